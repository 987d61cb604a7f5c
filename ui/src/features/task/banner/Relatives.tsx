/** The other tasks that a trouble is about, as links. */
import { useTranslation } from "react-i18next";
import type { Task } from "#ui/api/generated.ts";
import { useStates } from "#ui/domain/useStates.ts";
import { pausedPart } from "../details/subtasks.ts";
import { useSubtasks } from "../details/useSubtasks.ts";
import { TaskLink, TaskLinks } from "../TaskLink.tsx";
import styles from "./NeedBanner.module.css";

/** The part at which the sequence of a task's ordered parts came to a stop. */
export function PausedPart({ task }: { task: Task }) {
  const states = useStates(task.project_id);
  const parts = useSubtasks(task).data?.items ?? [];
  const isClosed = ({ status }: Task) => states.get(status)?.kind === "terminal";
  const part = pausedPart(parts, task.error_annotation?.details, isClosed);
  if (!part) return null;
  return (
    <div className={styles.relative}>
      <TaskLink task={part} />
    </div>
  );
}

/** Those of the tasks it waits for that were cancelled. */
export function CancelledPrerequisites({ task }: { task: Task }) {
  const { t } = useTranslation();
  return (
    <TaskLinks
      ids={task.depends_on}
      projectId={task.project_id}
      label={t("task.cancelledPrerequisites")}
      shows={(state) => state?.cancels === true}
    />
  );
}
