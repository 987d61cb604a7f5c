/** Another task as a link: its state, number and title. */
import { useOp } from "#ui/api/client.ts";
import type { Task } from "#ui/api/generated.ts";
import { glyphOf } from "#ui/domain/stateKinds.ts";
import { useStates, type KnownState } from "#ui/domain/useStates.ts";
import { useTaskHref } from "#ui/app/useTaskHref.ts";
import { StateGlyph } from "#ui/components/StateGlyph.tsx";
import { Truncate } from "#ui/components/Truncate.tsx";
import styles from "./TaskLink.module.css";

export function TaskLink({ task }: { task: Task }) {
  const state = useStates(task.project_id).get(task.status);
  const href = useTaskHref();
  return (
    <a className={styles.link} href={href(task.project_id, task.number)}>
      <StateGlyph kind={glyphOf(task, state)} label={state?.display_name ?? task.status} />
      <span className={styles.number}>#{task.number}</span>
      <Truncate>{task.title}</Truncate>
    </a>
  );
}

function Item({
  id,
  projectId,
  shows,
}: {
  id: string;
  projectId: string;
  shows: (state: KnownState | undefined) => boolean;
}) {
  const states = useStates(projectId);
  const task = useOp("task_get", { task_id: id }).data;
  if (!task || !shows(states.get(task.status))) return null;
  return (
    <li>
      <TaskLink task={task} />
    </li>
  );
}

const all = () => true;

/** Those of these tasks whose state passes; nothing when none does. */
export function TaskLinks({
  ids,
  projectId,
  label,
  shows = all,
}: {
  ids: readonly string[];
  projectId: string;
  label: string;
  shows?: (state: KnownState | undefined) => boolean;
}) {
  return (
    <ul className={styles.list} aria-label={label}>
      {ids.map((id) => (
        <Item key={id} id={id} projectId={projectId} shows={shows} />
      ))}
    </ul>
  );
}
