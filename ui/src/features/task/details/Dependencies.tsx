import { Plus, X } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useOp } from "#ui/api/client.ts";
import type { Task } from "#ui/api/generated.ts";
import { formatRoute } from "#ui/app/router.ts";
import { glyphOf } from "#ui/app/stateKinds.ts";
import { useStates } from "#ui/app/useStates.ts";
import { Button } from "#ui/components/Button.tsx";
import { IconButton } from "#ui/components/IconButton.tsx";
import { StateGlyph } from "#ui/components/StateGlyph.tsx";
import { TextField } from "#ui/components/TextField.tsx";
import { ActionError } from "../ActionError.tsx";
import { useAction } from "../useAction.ts";
import styles from "./Details.module.css";

function Prerequisite({
  id,
  projectId,
  onRemove,
}: {
  id: string;
  projectId: string;
  onRemove: () => void;
}) {
  const { t } = useTranslation();
  const states = useStates(projectId);
  const task = useOp("task_get", { task_id: id }).data;
  const state = task && states.get(task.status);
  return (
    <li className={styles.dependency}>
      {task ? (
        <>
          <StateGlyph kind={glyphOf(task, state)} label={state?.display_name ?? task.status} />
          <a href={formatRoute("task", { project: projectId, number: String(task.number) })}>
            <span className={styles.quiet}>#{task.number}</span> {task.title}
          </a>
        </>
      ) : (
        <code>{id}</code>
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
  const [number, setNumber] = useState("");
  const wanted = Number(number.replace(/^#/, "").trim());
  const valid = Number.isInteger(wanted) && wanted > 0;

  const add = async () => {
    if (!valid || action.busy) return;
    const found = await action.run("task_find", { project_id: projectId, number: wanted });
    if (!found) return;
    const done = await action.run("task_dependency_add", {
      task_id: task.id,
      depends_on: found.id,
    });
    if (!done) return;
    setNumber("");
    setAdding(false);
  };

  return (
    <div className={styles.part}>
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
              projectId={projectId}
              onRemove={() =>
                void action.run("task_dependency_remove", { task_id: task.id, depends_on: id })
              }
            />
          ))}
        </ul>
      ) : (
        !adding && <p className={styles.quiet}>{t("task.noDependencies")}</p>
      )}
      {adding && (
        <form
          className={styles.adding}
          onSubmit={(event) => {
            event.preventDefault();
            void add();
          }}
        >
          <TextField
            autoFocus
            hideLabel
            label={t("task.dependencyNumber")}
            placeholder={t("task.dependencyNumber")}
            inputMode="numeric"
            value={number}
            onChange={setNumber}
          />
          <Button type="submit" disabled={!valid} busy={action.busy !== null}>
            {t("task.add")}
          </Button>
        </form>
      )}
      <ActionError
        title={t("task.dependencyFailed")}
        error={action.error}
        onDismiss={action.dismiss}
      />
    </div>
  );
}
