/** What is asked before a task is cancelled, deleted, or closed with work that is not merged. */
import { useTranslation } from "react-i18next";
import { AlertDialog } from "#ui/components/AlertDialog.tsx";
import { CloseQuestion } from "#ui/domain/closing/CloseQuestion.tsx";
import type { Questions } from "./useTaskActions.tsx";

export function TaskQuestions({ questions }: { questions: Questions }) {
  const { t } = useTranslation();
  const { task, confirm, isDeleting, closing, onKeep } = questions;
  const onOpenChange = (open: boolean) => {
    if (!open) onKeep();
  };
  return (
    <>
      <AlertDialog
        open={confirm !== null}
        onOpenChange={onOpenChange}
        title={confirm?.label ?? ""}
        description={confirm?.why ?? ""}
        confirmLabel={confirm?.label ?? ""}
        keepLabel={t("task.keep", { count: 1 })}
        danger
        onConfirm={questions.onConfirm}
      />
      <AlertDialog
        open={isDeleting}
        onOpenChange={onOpenChange}
        title={t("task.deleteTitle", { count: 1, number: task.number })}
        description={t("task.deleteHint", { count: 1 })}
        confirmLabel={t("task.action.delete", { count: 1 })}
        keepLabel={t("task.keep", { count: 1 })}
        danger
        onConfirm={questions.onDelete}
      />
      {closing && <CloseQuestion tasks={[task]} {...closing} />}
    </>
  );
}
