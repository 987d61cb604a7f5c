import { Plus, X } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useOp } from "#ui/api/client.ts";
import type { Task } from "#ui/api/generated.ts";
import { useStates } from "#ui/domain/useStates.ts";
import { TaskPicker } from "#ui/domain/TaskPicker.tsx";
import { Badge } from "#ui/components/Badge.tsx";
import { IconButton } from "#ui/components/IconButton.tsx";
import { ActionError } from "../ActionError.tsx";
import { TaskLink } from "../TaskLink.tsx";
import { useAction } from "../useAction.ts";
import { Stack } from "#ui/components/Stack.tsx";
import layout from "#ui/components/layout.module.css";
import styles from "./Details.module.css";

function Prerequisite({
  id,
  open,
  projectId,
  onRemove,
}: {
  id: string;
  /** Whether it still holds the task up. */
  open: boolean;
  projectId: string;
  onRemove: () => void;
}) {
  const { t } = useTranslation();
  const states = useStates(projectId);
  const task = useOp("task_get", { task_id: id }).data;
  const state = task && states.get(task.status);
  return (
    <li className={styles.dependency}>
      {task ? <TaskLink task={task} /> : <code>{id}</code>}
      {state?.cancels ? (
        <Badge tone="danger">{state.display_name}</Badge>
      ) : (
        open && <Badge look="outline">{state?.display_name ?? t("task.dependencyOpen")}</Badge>
      )}
      <IconButton
        label={t("task.removeDependency", { number: task?.number ?? id })}
        icon={<X />}
        size="sm"
        onClick={onRemove}
      />
    </li>
  );
}

/** What must be done before it. A circle is refused by the engine, which names it. */
export function Dependencies({ task, projectId }: { task: Task; projectId: string }) {
  const { t } = useTranslation();
  const action = useAction();
  const [adding, setAdding] = useState(false);
  const add = async (found: Task | null) => {
    if (!found || action.busy) return;
    const done = await action.run("task_dependency_add", {
      task_id: task.id,
      depends_on: found.id,
    });
    if (done) setAdding(false);
  };
  return (
    <Stack gap={2}>
      <h3 className={styles.heading}>
        {t("task.dependencies")}
        <IconButton
          label={t("task.addDependency")}
          icon={<Plus />}
          size="sm"
          pressed={adding}
          onClick={() => setAdding(!adding)}
        />
      </h3>
      {task.depends_on.length > 0 ? (
        <ul>
          {task.depends_on.map((id) => (
            <Prerequisite
              key={id}
              id={id}
              open={task.blocked_by.includes(id)}
              projectId={projectId}
              onRemove={() =>
                void action.run("task_dependency_remove", { task_id: task.id, depends_on: id })
              }
            />
          ))}
        </ul>
      ) : (
        !adding && <p className={layout.faint}>{t("task.noDependencies")}</p>
      )}
      {adding && (
        <TaskPicker
          autoFocus
          hideLabel
          projectId={projectId}
          label={t("task.dependencyPick")}
          placeholder={t("task.dependencyPick")}
          accepts={({ id }, state) =>
            id !== task.id && !task.depends_on.includes(id) && state?.kind !== "terminal"
          }
          onPick={(found) => void add(found)}
        />
      )}
      <ActionError
        title={t("task.dependencyFailed")}
        error={action.error}
        onDismiss={action.dismiss}
      />
    </Stack>
  );
}
