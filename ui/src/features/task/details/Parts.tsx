/** The task's parts as a section of their own, beside what the task says. */
import { ChevronRight } from "lucide-react";
import { useTranslation } from "react-i18next";
import type { Task, WorkflowView } from "#ui/api/generated.ts";
import { AddButton, PartsProgress, SubtaskList } from "./Subtasks.tsx";
import { Stack } from "#ui/components/Stack.tsx";
import styles from "./Details.module.css";

/** One level of parts: a part has none of its own. */
export const canHaveParts = (task: Task): boolean => task.parent_id === null;

export function Parts({
  task,
  view,
  open,
  onToggle,
  adding,
  onAdding,
}: {
  task: Task;
  view: WorkflowView | undefined;
  open: boolean;
  onToggle: () => void;
  adding: boolean;
  onAdding: (adding: boolean) => void;
}) {
  const { t } = useTranslation();
  return (
    <section
      className={styles.details}
      aria-label={t("subtasks.label")}
      data-open={open || undefined}
      data-always
    >
      <div className={styles.bar}>
        <button type="button" className={styles.toggle} aria-expanded={open} onClick={onToggle}>
          <ChevronRight aria-hidden />
          <span className={styles.name}>{t("subtasks.label")}</span>
          <PartsProgress task={task} />
        </button>
        {open && <AddButton adding={adding} onAdding={() => onAdding(!adding)} />}
      </div>
      {open && (
        <div className={styles.body}>
          <Stack gap={2}>
            <SubtaskList task={task} view={view} adding={adding} onAdding={onAdding} />
          </Stack>
        </div>
      )}
    </section>
  );
}
