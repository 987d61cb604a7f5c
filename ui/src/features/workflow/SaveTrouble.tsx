import { useTranslation } from "react-i18next";
import { formatRoute } from "#ui/app/router.ts";
import { errorText, type ApiError } from "#ui/api/error.ts";
import { findingsOf } from "#ui/api/findings.ts";
import { Banner } from "#ui/components/Banner.tsx";
import { ChangedElsewhere } from "#ui/components/ChangedElsewhere.tsx";
import { rebaseDraft, resetDraft } from "#ui/draft/drafts.ts";
import { tasksIn } from "./inUse.ts";
import { draftKey, textOf, type WorkflowDraft } from "./useWorkflowDraft.ts";
import layout from "#ui/components/layout.module.css";
import styles from "./workflow.module.css";

function InUse({ projectId, error }: { projectId: string; error: ApiError }) {
  const { t } = useTranslation();
  const tasks = tasksIn(error);
  return (
    <Banner
      tone="danger"
      title={t("workflow.inUse")}
      evidence={
        tasks.length > 0 && (
          <ul className={styles.tasks} data-selectable>
            {tasks.map(({ number, title, status }) => (
              <li key={number}>
                <a href={formatRoute("task", { project: projectId, number: String(number) })}>
                  #{number} {title}
                </a>
                {status && <span className={layout.note}>{status}</span>}
              </li>
            ))}
          </ul>
        )
      }
    >
      {tasks.length > 0 ? t("workflow.inUseText") : errorText(error)}
    </Banner>
  );
}

/** Why it was not saved, and the ways on. The draft is as it was. */
export function SaveTrouble({ projectId, state }: { projectId: string; state: WorkflowDraft }) {
  const { t } = useTranslation();
  const key = draftKey(projectId);
  const { draft, view, saveError } = state;
  const theirs = textOf(view.workflow);
  if (draft.isStale) {
    return (
      <ChangedElsewhere
        title={t("workflow.changedElsewhere")}
        onKeep={() => rebaseDraft(key, theirs, view.version)}
        onTake={() => resetDraft(key, theirs, view.version)}
      />
    );
  }
  if (!saveError || saveError.code === "version_conflict") return null;
  // Findings stand at their fields and in the list below.
  if (findingsOf(saveError).length > 0) return null;
  if (saveError.code === "states_in_use") return <InUse projectId={projectId} error={saveError} />;
  return (
    <Banner tone="danger" title={t("workflow.notSaved")}>
      {errorText(saveError)}
    </Banner>
  );
}
