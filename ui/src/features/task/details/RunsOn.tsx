/** Where the task runs: what it says itself, or its agent's or project's word. */
import { Pencil } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useOp } from "#ui/api/client.ts";
import { findingAt, restOf } from "#ui/api/findings.ts";
import type { Task, WorkflowView } from "#ui/api/generated.ts";
import { RunsOnField } from "#ui/domain/machines/RunsOnField.tsx";
import { machineOf } from "#ui/domain/machines/machines.ts";
import { useInherited, useMachineMap } from "#ui/domain/machines/useMachines.ts";
import { workingAgent } from "#ui/domain/taskActions.ts";
import { Badge } from "#ui/components/Badge.tsx";
import { Button } from "#ui/components/Button.tsx";
import { Dialog } from "#ui/components/Dialog.tsx";
import { IconButton } from "#ui/components/IconButton.tsx";
import { Stack } from "#ui/components/Stack.tsx";
import layout from "#ui/components/layout.module.css";
import { ActionError } from "../ActionError.tsx";
import { useAction } from "../useAction.ts";
import styles from "./Details.module.css";

function EditDialog({
  task,
  inherited,
  onClose,
}: {
  task: Task;
  inherited: readonly string[];
  onClose: () => void;
}) {
  const { t } = useTranslation();
  const action = useAction();
  const on = useMachineMap().get(machineOf(task.workspace) ?? "");
  const [labels, setLabels] = useState<readonly string[] | null>(task.machines ?? null);
  const save = async () => {
    const machines = labels === null ? null : [...labels];
    const { id, version } = task;
    if (await action.run("task_update", { task_id: id, version, machines })) onClose();
  };
  return (
    <Dialog
      open
      onOpenChange={(open) => !open && onClose()}
      title={t("runsOn.taskHeading")}
      description={on && t("runsOn.stays", { name: on.name })}
      actions={
        <>
          <Button onClick={onClose}>{t("action.cancel")}</Button>
          <Button variant="primary" busy={action.busy !== null} onClick={() => void save()}>
            {t("task.save")}
          </Button>
        </>
      }
    >
      <Stack gap={3}>
        {restOf(action.error, ["machines"]) !== null && (
          <ActionError
            title={t("task.saveFailed")}
            error={action.error}
            onDismiss={action.dismiss}
          />
        )}
        <RunsOnField
          value={labels}
          inherited={{ from: t("runsOn.fromAgentOrProject"), labels: inherited }}
          error={findingAt(action.error, "machines")}
          onChange={setLabels}
        />
      </Stack>
    </Dialog>
  );
}

/** Where it would run now and why, by the engine's own decision. */
function Placement({ taskId }: { taskId: string }) {
  const { t } = useTranslation();
  const { data } = useOp("task_placement_get", { task_id: taskId });
  if (data?.verdict !== "starts" && data?.verdict !== "waits") return null;
  return (
    <Stack gap={1}>
      <p className={layout.faint} data-selectable>
        {sentence(data.reason)}
      </p>
      {data.machines.length > 0 && (
        <ul className={layout.faint} aria-label={t("runsOn.choices")} data-selectable>
          {data.machines.map(({ machine_id: id, name, reason }) => (
            <li key={id}>{t("runsOn.choice", { name, reason })}</li>
          ))}
        </ul>
      )}
    </Stack>
  );
}

const sentence = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;

export function RunsOn({ task, view }: { task: Task; view: WorkflowView | undefined }) {
  const { t } = useTranslation();
  const [editing, setEditing] = useState(false);
  const machines = useMachineMap();
  const inherited = useInherited(task.project_id, workingAgent(task, view?.work_role));
  const own = task.machines ?? null;
  const labels = own ?? inherited.labels;
  // Whoever has no machines and names none is not asked.
  if (machines.size === 0 && labels.length === 0) return null;
  return (
    <Stack gap={3}>
      <Stack gap={2}>
        <h3 className={styles.heading}>
          {t("runsOn.label")}
          <Badge look="outline">
            {t(`runsOn.source.${own === null ? inherited.source : "task"}`)}
          </Badge>
          <IconButton
            label={t("runsOn.edit")}
            icon={<Pencil />}
            size="sm"
            onClick={() => setEditing(true)}
          />
        </h3>
        <p className={layout.faint} data-selectable>
          {labels.length === 0 ? t("runsOn.here") : labels.join(", ")}
        </p>
        {editing && (
          <EditDialog task={task} inherited={inherited.labels} onClose={() => setEditing(false)} />
        )}
      </Stack>
      <Placement taskId={task.id} />
    </Stack>
  );
}
