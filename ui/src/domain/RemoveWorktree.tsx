import { useTranslation } from "react-i18next";
import { useOpMutation } from "#ui/api/client.ts";
import { errorText } from "#ui/api/error.ts";
import { AlertDialog } from "#ui/components/AlertDialog.tsx";
import { Banner } from "#ui/components/Banner.tsx";

/** Asks before a closed task's worktree is removed now; says what stays. */
export function RemoveWorktree({
  task,
  open,
  onOpenChange,
}: {
  task: { readonly id: string; readonly number: number };
  open: boolean;
  onOpenChange: (open: boolean) => void;
}) {
  const { t } = useTranslation();
  const remove = useOpMutation("workspace_remove", { onSuccess: () => onOpenChange(false) });
  return (
    <AlertDialog
      open={open}
      onOpenChange={(next) => {
        onOpenChange(next);
        remove.reset();
      }}
      danger
      busy={remove.isPending}
      title={t("workspace.removeTitle", { number: task.number })}
      description={t("workspace.removeText")}
      confirmLabel={t("workspace.remove")}
      onConfirm={() => remove.mutate({ task_id: task.id })}
    >
      {remove.error && (
        <Banner tone="danger" title={t("workspace.notRemoved")}>
          {errorText(remove.error)}
        </Banner>
      )}
    </AlertDialog>
  );
}
