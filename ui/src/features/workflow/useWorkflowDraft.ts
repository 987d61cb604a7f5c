import { useEffect, useState } from "react";
import { useOp, useOpMutation } from "#ui/api/client.ts";
import { ApiError } from "#ui/api/error.ts";
import { findingsOf } from "#ui/api/findings.ts";
import type { Finding, Workflow, WorkflowView } from "#ui/api/generated.ts";
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
import { isDrawable, tidy } from "./definition.ts";

export const draftKey = (projectId: string): string => `workflow:${projectId}`;
export const textOf = (workflow: Workflow): string => formatJson(tidy(workflow));

const savedIn = ({ workflow, version }: WorkflowView): Saved => ({
  base: textOf(workflow),
  version,
});
const isConflict = (error: unknown): boolean =>
  error instanceof ApiError && error.code === "version_conflict";

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

  // What saving found holds for the text that was sent, no longer.
  const [sent, setSent] = useState<string | null>(null);
  const put = useOpMutation("project_workflow_put", {
    onSuccess: () => showToast({ tone: "success", title: t("workflow.saved") }),
  });
  const now = () => read.refetch().then(({ data, isError }) => (data && !isError ? data : null));
  const putOver = (text: string, over: number | null) =>
    put.mutateAsync({ project_id: projectId, text, version: over });
  const save = (text: string, { base: before, version: over }: Draft) => {
    setSent(text);
    const send = async () => {
      try {
        return savedIn(await putOver(text, over));
      } catch (error) {
        const current = isConflict(error) ? await now() : null;
        // The project changed, its workflow did not: nobody's work is in the way.
        if (current === null || textOf(current.workflow) !== before) throw error;
        return savedIn(await putOver(text, current.version));
      }
    };
    void saveDraft(key, send, () => now().then((current) => current && savedIn(current)));
  };
  const saveError = sent === written ? put.error : null;
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
          save: () => save(written, draft),
          isSaving: draft.isSaving,
          saveError,
        }
      : null;
  return { error: read.error, retry: () => void read.refetch(), state };
}
