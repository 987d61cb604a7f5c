import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useOpMutation } from "#ui/api/client.ts";
import { errorText } from "#ui/api/error.ts";
import type { Machine } from "#ui/api/generated.ts";
import { AlertDialog } from "#ui/components/AlertDialog.tsx";
import { Banner } from "#ui/components/Banner.tsx";
import { Checkbox } from "#ui/components/Checkbox.tsx";

/**
 * Asks once. The engine refuses while worktrees or jobs of tasks are there, and says which. Jobs may be left there: their
 * cluster may never answer again.
 */
export function RemoveDialog({ machine, onClose }: { machine: Machine; onClose: () => void }) {
  const { t } = useTranslation();
  const remove = useOpMutation("machine_delete", { onSuccess: onClose });
  const [abandons, setAbandons] = useState(false);
  const { kind, name, root, tasks } = machine;
  const hasJobs =
    (kind === "slurm" || kind === "kubernetes") && tasks === 0 && remove.error?.code === "in_use";
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
      onConfirm={() =>
        remove.mutate({ machine_id: machine.id, ...(abandons && { abandon_jobs: true }) })
      }
    >
      {remove.error && (
        <Banner tone="danger" title={t("machines.notRemoved")}>
          {errorText(remove.error)}
        </Banner>
      )}
      {(hasJobs || abandons) && (
        <Checkbox
          label={t("machines.abandonJobs")}
          hint={t("machines.abandonJobsHint")}
          checked={abandons}
          onChange={setAbandons}
        />
      )}
    </AlertDialog>
  );
}
