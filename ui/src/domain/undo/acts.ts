/** The ways back from what is done to tasks and comments. Each reads the task anew: it may have changed since. */
import { call } from "#ui/api/client.ts";
import { ApiError, errorText } from "#ui/api/error.ts";
import type { Comment, Task, WorkflowView } from "#ui/api/generated.ts";
import { t } from "#ui/i18n/index.ts";
import type { Platform } from "#ui/platform/types.ts";
import { offerUndo, rememberUndo } from "./undo.ts";

/** Beside which card a task stood. */
export interface OldPlace {
  readonly before_id?: string;
  readonly after_id?: string;
}

export interface Moved {
  /** The task before it was moved. */
  readonly task: Task;
  /** The state it was moved to. */
  readonly to: string;
  readonly place: OldPlace;
}

const now = (platform: Platform, { id }: Task): Promise<Task> =>
  call(platform, "task_get", { task_id: id });

/** Whether a task that comes to a state has an agent start, checks run or work merged: no undo does that. */
const acts = ({ workflow, dispatching }: WorkflowView, name: string): boolean =>
  dispatching.includes(name) ||
  workflow.states.some((state) => state.name === name && state.kind === "gate");

/**
 * The state that leads back: the one it came from if nothing begins there, else the one where work begins; null when none
 * may be taken.
 */
export function wayBack(view: WorkflowView, from: string, to: string): string | null {
  if (from === to) return to;
  const open = view.moves.find((moves) => moves.from === from)?.to ?? [];
  if (open.includes(to) && !acts(view, to)) return to;
  const initial = view.workflow.states.find(({ kind }) => kind === "initial")?.name;
  return initial !== undefined && open.includes(initial) ? initial : null;
}

const changedSince = ({ number }: Task) => new Error(t("undo.changedSince", { number }));

/** Undoes it for every task; what is in the way of some does not keep the others. */
async function forEach<Each>(
  all: readonly Each[],
  taskOf: (each: Each) => Task,
  undo: (each: Each) => Promise<unknown>,
): Promise<void> {
  const left: { readonly number: number; readonly error: unknown }[] = [];
  for (const each of all) {
    try {
      await undo(each);
    } catch (error) {
      left.push({ number: taskOf(each).number, error });
    }
  }
  const [first] = left;
  if (!first) return;
  if (all.length === 1) throw first.error;
  const numbers = left.map(({ number }) => `#${number}`).join(", ");
  throw new Error(t("undo.some", { numbers, reason: errorText(ApiError.from(first.error)) }));
}

async function moveBack(platform: Platform, view: WorkflowView, moved: Moved): Promise<void> {
  const { task, place } = moved;
  const found = await now(platform, task);
  if (found.live !== null) throw new Error(t("undo.atWork", { number: task.number }));
  if (found.status !== moved.to) throw changedSince(task);
  const to = wayBack(view, found.status, task.status);
  if (to === null) throw new Error(t("undo.noWay", { number: task.number }));
  await call(platform, "task_move", {
    task_id: task.id,
    to,
    ...(to === task.status ? place : {}),
    version: found.version,
    wait: "none",
  });
}

/** Tasks were moved to this column; those that only changed their order are not told of. */
export function offerMoveBack(
  platform: Platform,
  view: WorkflowView,
  moves: readonly Moved[],
  column: string,
): void {
  const [first] = moves;
  const ways = moves.map(({ task, to }) => wayBack(view, to, task.status));
  if (!first || ways.includes(null)) return;
  const title = t("undo.moved", { count: moves.length, number: first.task.number, column });
  const undo = () =>
    forEach(
      moves,
      ({ task }) => task,
      (moved) => moveBack(platform, view, moved),
    );
  if (moves.every(({ task, to }) => task.status === to)) {
    rememberUndo({ title, undo });
    return;
  }
  const other = ways.find((way, index) => way !== moves[index]?.task.status);
  const name = view.workflow.states.find((state) => state.name === other)?.display_name;
  offerUndo({ title, undo }, name && t("undo.elsewhere", { column: name }));
}

const holderOf = (task: Task, role: string): string | null => {
  const holder = task.roles[role];
  return holder ? (holder.id ?? "user") : null;
};

/** Tasks before a role of theirs was given to somebody, or to nobody. */
export function offerRoleBack(
  platform: Platform,
  tasks: readonly Task[],
  role: string,
  given: string | null,
): void {
  const [first] = tasks;
  if (!first) return;
  const title = t("undo.assigned", { count: tasks.length, number: first.number });
  const assignBack = async (task: Task) => {
    const found = await now(platform, task);
    if (holderOf(found, role) !== given) throw changedSince(task);
    await call(platform, "task_assign", {
      task_id: task.id,
      role,
      holder: holderOf(task, role),
      version: found.version,
    });
  };
  const undo = () => forEach(tasks, (task) => task, assignBack);
  offerUndo({ title, undo });
}

/** Tasks before their priority was changed to this one. */
export function offerPriorityBack(platform: Platform, tasks: readonly Task[], given: number): void {
  const [first] = tasks;
  if (!first) return;
  const title = t("undo.priority", { count: tasks.length, number: first.number });
  const setBack = async (task: Task) => {
    const found = await now(platform, task);
    if (found.priority !== given) throw changedSince(task);
    const { id, priority } = task;
    await call(platform, "task_update", { task_id: id, version: found.version, priority });
  };
  const undo = () => forEach(tasks, (task) => task, setBack);
  offerUndo({ title, undo });
}

/**
 * A draft that was deleted. It is written once more, on the lines that it spoke of; where those are gone, on its file as
 * a whole.
 */
export function offerCommentBack(platform: Platform, comment: Comment): void {
  const { task_id, path, side, text, outdated, now_line: line, now_last_line: last } = comment;
  const lines = outdated || line === null ? {} : { line, last_line: last ?? line };
  const undo = async () => {
    try {
      await call(platform, "comment_create", { task_id, path, side, text, ...lines });
    } catch (error) {
      // It is nowhere else any more: whoever wrote it can copy it from here.
      const reason = errorText(ApiError.from(error));
      throw new Error(t("undo.commentText", { reason, text }), { cause: error });
    }
  };
  const wasOnLines = outdated && comment.line !== null;
  offerUndo(
    { title: t("undo.comment", { path }), undo },
    wasOnLines ? t("undo.commentElsewhere") : undefined,
  );
}
