import { useEffect, useState } from "react";
import { useOp, useOpMutation } from "#ui/api/client.ts";
import type { ApiError } from "#ui/api/error.ts";
import { findingsOf } from "#ui/api/findings.ts";
import type { Finding, LifecycleHooks, SettingsView } from "#ui/api/generated.ts";
import { showToast } from "#ui/components/Toast.tsx";
import {
  editDraft,
  openDraft,
  saveDraft,
  useDraft,
  type Draft,
  type Saved,
} from "#ui/draft/drafts.ts";
import { formatJson, parseJson, type ParsedJson } from "#ui/draft/json.ts";
import { t } from "#ui/i18n/index.ts";
import { isDrawable, patchOf, standing, tidy, type Hooks } from "./hooks.ts";

export const draftKey = (projectId: string): string => `hooks:${projectId}`;
export const textOf = (hooks: LifecycleHooks | undefined): string => formatJson(tidy(hooks ?? {}));
const savedIn = ({ settings }: SettingsView): Saved => ({
  base: textOf(settings.lifecycle_hooks),
  version: null,
});

export interface HooksDraft {
  readonly draft: Draft;
  /** What is saved now, as the draft would say it. */
  readonly saved: string;
  readonly parsed: ParsedJson;
  /** The draft's value, when the form can show it. */
  readonly hooks: Hooks | null;
  readonly findings: readonly Finding[];
  readonly edit: (next: unknown, group?: string) => void;
  readonly save: () => void;
  readonly isSaving: boolean;
  readonly saveError: ApiError | null;
}

export function useHooksDraft(projectId: string) {
  const key = draftKey(projectId);
  const read = useOp("project_settings_get", { project_id: projectId });
  const saved = read.data && textOf(read.data.settings.lifecycle_hooks);
  useEffect(() => {
    if (saved !== undefined) openDraft(key, saved, null);
  }, [key, saved]);
  const draft = useDraft(key);
  const parsed = parseJson(draft?.text ?? "");

  const [sent, setSent] = useState<unknown>(undefined);
  const update = useOpMutation("project_settings_update", {
    onSuccess: () => showToast({ tone: "success", title: t("hooks.saved") }),
  });
  const save = (hooks: unknown) => {
    setSent(hooks);
    void saveDraft(
      key,
      () => update.mutateAsync({ project_id: projectId, ...patchOf(hooks) }).then(savedIn),
      () => read.refetch().then(({ data, isError }) => (data && !isError ? savedIn(data) : null)),
    );
  };
  const said = update.error ? findingsOf(update.error) : [];
  const state: HooksDraft | null =
    saved !== undefined && draft
      ? {
          draft,
          saved,
          parsed,
          hooks: parsed.ok && isDrawable(parsed.value) ? parsed.value : null,
          findings: parsed.ok ? standing(said, sent, parsed.value) : [],
          edit: (next, group) => editDraft(key, formatJson(next), group ?? null),
          save: () => {
            if (parsed.ok) save(parsed.value);
          },
          isSaving: draft.isSaving,
          saveError: update.error,
        }
      : null;
  return { error: read.error, retry: () => void read.refetch(), state };
}
