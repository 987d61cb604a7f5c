import { useEffect, useState } from "react";
import { useOp, useOpMutation } from "#ui/api/client.ts";
import type { ApiError } from "#ui/api/error.ts";
import { findingsOf } from "#ui/api/findings.ts";
import type { Finding, LifecycleHooks } from "#ui/api/generated.ts";
import { showToast } from "#ui/components/Toast.tsx";
import {
  drafts,
  editDraft,
  openDraft,
  resetDraft,
  useDraft,
  type Draft,
} from "#ui/draft/drafts.ts";
import { formatJson, parseJson, type ParsedJson } from "#ui/draft/json.ts";
import { t } from "#ui/i18n/index.ts";
import { isDrawable, patchOf, standing, tidy, type Hooks } from "./hooks.ts";

export const draftKey = (projectId: string): string => `hooks:${projectId}`;
export const textOf = (hooks: LifecycleHooks | undefined): string => formatJson(tidy(hooks ?? {}));

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
    onSuccess: (view) => {
      const now = drafts.getState().drafts[key];
      const base = textOf(view.settings.lifecycle_hooks);
      const same = now && formatJson(sent) === formatJson(valueOf(now.text));
      if (same) resetDraft(key, base, null);
      else openDraft(key, base, null);
      showToast({ tone: "success", title: t("hooks.saved") });
      void read.refetch();
    },
  });
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
            if (!parsed.ok) return;
            setSent(parsed.value);
            update.mutate({ project_id: projectId, ...patchOf(parsed.value) });
          },
          isSaving: update.isPending,
          saveError: update.error,
        }
      : null;
  return { error: read.error, retry: () => void read.refetch(), state };
}

function valueOf(text: string): unknown {
  const parsed = parseJson(text);
  return parsed.ok ? parsed.value : undefined;
}
