/** Finds a task of a project by its number or title; the engine searches, however many there are. */
import { useDeferredValue, useState } from "react";
import { useOp } from "#ui/api/client.ts";
import type { Task } from "#ui/api/generated.ts";
import { Combobox } from "#ui/components/Combobox.tsx";
import { StateGlyph } from "#ui/components/StateGlyph.tsx";
import { glyphOf } from "./stateKinds.ts";
import { useStates, type KnownState } from "./useStates.ts";

const shown = 30;

export interface TaskPickerProps {
  readonly projectId: string;
  readonly label: string;
  readonly hideLabel?: boolean;
  readonly placeholder: string;
  readonly autoFocus?: boolean;
  /** The one that is chosen, where choosing is not an act of its own. */
  readonly value?: Task | null;
  /** Which of those found may be chosen. */
  readonly accepts: (task: Task, state: KnownState | undefined) => boolean;
  readonly onPick: (task: Task | null) => void;
}

export function TaskPicker({
  projectId,
  label,
  hideLabel = false,
  placeholder,
  autoFocus = false,
  value = null,
  accepts,
  onPick,
}: TaskPickerProps) {
  const [typed, setTyped] = useState("");
  const states = useStates(projectId);
  // A chosen task's own label in the box is not a search.
  const search = value ? "" : typed.trim().replace(/^#(?=\d)/, "");
  const query = useDeferredValue(search);
  const found =
    useOp(
      "task_list",
      { project_id: projectId, q: query || null, limit: shown },
      { keepPrevious: true },
    ).data?.items ?? [];
  const listed = found.filter((task) => accepts(task, states.get(task.status)));
  const tasks = value && !listed.some(({ id }) => id === value.id) ? [value, ...listed] : listed;
  return (
    <Combobox
      label={label}
      hideLabel={hideLabel}
      placeholder={placeholder}
      autoFocus={autoFocus}
      value={value?.id ?? null}
      options={tasks.map((task) => ({
        value: task.id,
        label: `#${task.number} ${task.title}`,
        icon: <StateGlyph kind={glyphOf(task, states.get(task.status))} label="" />,
      }))}
      onSearch={setTyped}
      onChange={(id) => onPick(tasks.find((task) => task.id === id) ?? null)}
    />
  );
}
