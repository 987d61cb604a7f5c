import { useEffect, useState } from "react";
import { useOp, useOpMutation } from "#ui/api/client.ts";
import type { ApiError } from "#ui/api/error.ts";
import { findingsOf } from "#ui/api/findings.ts";
import type { Finding, Workflow, WorkflowView } from "#ui/api/generated.ts";
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
import { isDrawable, tidy } from "./definition.ts";

export const draftKey = (projectId: string): string => `workflow:${projectId}`;
export const textOf = (workflow: Workflow): string => formatJson(tidy(workflow));

const pause = 250;

/** What was typed, once the typing has paused. */
function useSettled(text: string): string {
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    if (text === settled) return undefined;
    const timer = setTimeout(() => setSettled(text), pause);
    return () => clearTimeout(timer);
  }, [text, settled]);
  return settled;
}

export interface WorkflowDraft {
  readonly view: WorkflowView;
  readonly draft: Draft;
  readonly parsed: ParsedJson;
  /** The draft's value, when form and graph can show it. */
  readonly workflow: Workflow | null;
  readonly findings: readonly Finding[];
  readonly notes: readonly string[];
  /** The findings are those of an earlier text. */
  readonly isChecking: boolean;
  readonly edit: (next: unknown, group?: string) => void;
  readonly save: () => void;
  readonly isSaving: boolean;
  readonly saveError: ApiError | null;
}

export function useWorkflowDraft(projectId: string) {
  const key = draftKey(projectId);
  const read = useOp("project_workflow_get", { project_id: projectId });
  const view = read.data;
  const base = view && textOf(view.workflow);
  const version = view?.version ?? null;
  useEffect(() => {
    if (base !== undefined) openDraft(key, base, version);
  }, [key, base, version]);

  const draft = useDraft(key);
  const written = draft?.text ?? "";
  const parsed = parseJson(written);
  const settled = useSettled(written);
  const check = useOp(
    "workflow_check",
    { text: settled },
    { enabled: draft !== undefined && parseJson(settled).ok, keepPrevious: true },
  );

  // What saving found holds for the text that was saved, no longer.
  const [saved, setSaved] = useState<{
    text: string;
    version: number | null;
    again: boolean;
  } | null>(null);
  const put = useOpMutation("project_workflow_put", {
    onSuccess: (next, { text }) => {
      const now = drafts.getState().drafts[key];
      // What was typed while it was being saved stays a draft.
      if (now?.text === text) resetDraft(key, textOf(next.workflow), next.version);
      else openDraft(key, textOf(next.workflow), next.version);
      showToast({ tone: "success", title: t("workflow.saved") });
      void read.refetch();
    },
    onError: (error) => {
      if (error.code !== "version_conflict") return;
      void read.refetch().then(({ data }) => {
        if (!data || !saved || saved.again) return;
        // The project changed, its workflow did not: nobody's work is in the way.
        if (textOf(data.workflow) !== drafts.getState().drafts[key]?.base) return;
        send({ text: saved.text, version: data.version, again: true });
      });
    },
  });
  const send = (what: { text: string; version: number | null; again: boolean }) => {
    setSaved(what);
    put.mutate({ project_id: projectId, text: what.text, version: what.version });
  };
  const saveError = saved?.text === written ? put.error : null;
  const said = saveError ? findingsOf(saveError) : [];
  const findings = parsed.ok ? (said.length > 0 ? said : (check.data?.findings ?? [])) : [];

  const state: WorkflowDraft | null =
    view && draft
      ? {
          view,
          draft,
          parsed,
          workflow: parsed.ok && isDrawable(parsed.value) ? parsed.value : null,
          findings,
          notes: parsed.ok ? (check.data?.notes ?? []) : [],
          isChecking: check.isPlaceholderData || settled !== written,
          edit: (next, group) => editDraft(key, formatJson(next), group ?? null),
          save: () => send({ text: written, version: draft.version, again: false }),
          isSaving: put.isPending,
          saveError,
        }
      : null;
  return { error: read.error, retry: () => void read.refetch(), state };
}
