import { useState } from "react";
import { useTranslation } from "react-i18next";
import { AlertDialog } from "#ui/components/AlertDialog.tsx";
import { remove } from "./actions.ts";
import { useBoard } from "./model.ts";
import { useActing } from "./useActing.ts";

/** Deleting tasks deletes their sessions, too: that is asked first. */
export function AskBeforeDelete() {
  const { t } = useTranslation();
  const acting = useActing();
  const deleting = useBoard((state) => state.deleting);
  // The question keeps its words while it fades.
  const [tasks, setTasks] = useState(deleting);
  if (deleting.length > 0 && deleting !== tasks) setTasks(deleting);
  const count = tasks.length;
  const close = () => acting.model.state.setState({ deleting: [] });
  return (
    <AlertDialog
      open={deleting.length > 0}
      onOpenChange={(open) => {
        if (!open) close();
      }}
      title={t("task.deleteTitle", { count, number: tasks[0]?.number ?? 0 })}
      description={t("task.deleteHint", { count })}
      confirmLabel={t("task.action.delete", { count })}
      keepLabel={t("task.keep", { count })}
      danger
      onConfirm={() => {
        close();
        void remove(acting, tasks);
      }}
    />
  );
}
