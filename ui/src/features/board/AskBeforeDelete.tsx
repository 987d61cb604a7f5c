import { useTranslation } from "react-i18next";
import { AlertDialog } from "#ui/components/AlertDialog.tsx";
import { remove } from "./actions.ts";
import { useBoard } from "./model.ts";
import { useActing } from "./useActing.ts";

/** Deleting cards takes their conversations along: that is asked first. */
export function AskBeforeDelete() {
  const { t } = useTranslation();
  const acting = useActing();
  const tasks = useBoard((state) => state.deleting);
  const count = tasks.length;
  const close = () => acting.model.state.setState({ deleting: [] });
  return (
    <AlertDialog
      open={count > 0}
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
