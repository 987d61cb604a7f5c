import { Dialog } from "#ui/components/Dialog.tsx";
import { LogView } from "./LogView.tsx";

/** The whole log of a check or a step, from its end; live while it runs. */
export function LogDialog({
  taskId,
  logId,
  title,
  onClose,
}: {
  taskId: string;
  logId: string | null;
  title: string;
  onClose: () => void;
}) {
  return (
    <Dialog
      open={logId !== null}
      onOpenChange={(open) => {
        if (!open) onClose();
      }}
      title={title}
      size="lg"
    >
      {logId !== null && <LogView taskId={taskId} logId={logId} />}
    </Dialog>
  );
}
