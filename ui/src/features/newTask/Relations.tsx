/** The new task among others: what it depends on, and what it is a subtask of. */
import { X } from "lucide-react";
import { useTranslation } from "react-i18next";
import type { ExecutionMode, Task } from "#ui/api/generated.ts";
import { IconButton } from "#ui/components/IconButton.tsx";
import { SegmentedControl } from "#ui/components/SegmentedControl.tsx";
import { Stack } from "#ui/components/Stack.tsx";
import { Truncate } from "#ui/components/Truncate.tsx";
import { TaskPicker } from "#ui/domain/TaskPicker.tsx";
import type { Part } from "./draft.ts";
import layout from "#ui/components/layout.module.css";
import styles from "./NewTaskDialog.module.css";

function Chosen({ task, label, onRemove }: { task: Task; label: string; onRemove: () => void }) {
  return (
    <li>
      <span className={styles.number}>#{task.number}</span>
      <Truncate fill>{task.title}</Truncate>
      <IconButton size="sm" label={label} icon={<X />} onClick={onRemove} />
    </li>
  );
}

export function Dependencies({
  projectId,
  chosen,
  error,
  onChange,
}: {
  projectId: string;
  chosen: readonly Task[];
  error: string | undefined;
  onChange: (chosen: readonly Task[]) => void;
}) {
  const { t } = useTranslation();
  return (
    <Stack gap={1}>
      <TaskPicker
        key={chosen.length}
        projectId={projectId}
        label={t("newTask.dependsOn")}
        placeholder={t("newTask.dependsOnPlaceholder")}
        accepts={({ id }, state) =>
          state?.kind !== "terminal" && chosen.every((each) => each.id !== id)
        }
        onPick={(found) => found && onChange([...chosen, found])}
      />
      {error && <p className={layout.error}>{error}</p>}
      {chosen.length > 0 && (
        <ul className={styles.chosen}>
          {chosen.map((task) => (
            <Chosen
              key={task.id}
              task={task}
              label={t("newTask.removeDependency", { number: task.number })}
              onRemove={() => onChange(chosen.filter(({ id }) => id !== task.id))}
            />
          ))}
        </ul>
      )}
    </Stack>
  );
}

/** What the new task is part of, and where it works then. */
export function Kinship({
  projectId,
  part,
  errors,
  onChange,
}: {
  projectId: string;
  part: Part | null;
  errors: { readonly parent: string | undefined; readonly mode: string | undefined };
  onChange: (part: Part | null) => void;
}) {
  const { t } = useTranslation();
  const wrong = errors.parent ?? errors.mode;
  return (
    <Stack gap={1}>
      {part ? (
        <>
          <span className={styles.label}>{t("newTask.parent")}</span>
          <ul className={styles.chosen}>
            <Chosen
              task={part.parent}
              label={t("newTask.noParent")}
              onRemove={() => onChange(null)}
            />
          </ul>
          <SegmentedControl<ExecutionMode>
            label={t("newTask.mode")}
            value={part.mode}
            segments={(["independent", "ordered_turn"] as const).map((mode) => ({
              value: mode,
              label: t(`subtasks.mode.${mode}`),
            }))}
            onChange={(mode) => onChange({ ...part, mode })}
          />
          <p className={layout.note}>{t(`subtasks.modeText.${part.mode}`)}</p>
        </>
      ) : (
        <TaskPicker
          projectId={projectId}
          label={t("newTask.parent")}
          placeholder={t("newTask.parentPlaceholder")}
          // One level: a part has no parts of its own.
          accepts={({ parent_id: parent }, state) => parent === null && state?.kind !== "terminal"}
          onPick={(parent) => parent && onChange({ parent, mode: "independent" })}
        />
      )}
      {wrong && <p className={layout.error}>{wrong}</p>}
    </Stack>
  );
}
