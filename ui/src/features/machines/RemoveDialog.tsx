import { useTranslation } from "react-i18next";
import { useOpMutation } from "#ui/api/client.ts";
import { errorText } from "#ui/api/error.ts";
import type { Machine } from "#ui/api/generated.ts";
import { AlertDialog } from "#ui/components/AlertDialog.tsx";
import { Banner } from "#ui/components/Banner.tsx";

/** Asks once. The engine refuses while worktrees of tasks are there, and says of which. */
export function RemoveDialog({ machine, onClose }: { machine: Machine; onClose: () => void }) {
  const { t } = useTranslation();
  const remove = useOpMutation("machine_delete", { onSuccess: onClose });
  const { kind, name, root, tasks } = machine;
  return (
    <AlertDialog
      open
      onOpenChange={(open) => !open && onClose()}
      danger
      busy={remove.isPending}
      title={t("machines.removeTitle", { name })}
      description={
        <>
          {t(`machines.removeTextOf.${kind}`, { root })}
          {tasks > 0 && ` ${t("machines.removeHas", { count: tasks })}`}
        </>
      }
      confirmLabel={t("machines.removeAction")}
      onConfirm={() => remove.mutate({ machine_id: machine.id })}
    >
      {remove.error && (
        <Banner tone="danger" title={t("machines.notRemoved")}>
          {errorText(remove.error)}
        </Banner>
      )}
    </AlertDialog>
  );
}
