/** What a person does to cards. Every act ends in one operation of the contract. */
import type { QueryClient } from "@tanstack/react-query";
import { call } from "#ui/api/client.ts";
import { tagsOf } from "#ui/api/changes.ts";
import { ApiError, errorText } from "#ui/api/error.ts";
import type { Task } from "#ui/api/generated.ts";
import type { Perform } from "#ui/app/useTaskActions.tsx";
import { showToast } from "#ui/components/Toast.tsx";
import {
  offerMoveBack,
  offerPriorityBack,
  offerRoleBack,
  type Moved,
} from "#ui/domain/undo/acts.ts";
import { starterOf } from "#ui/domain/taskActions.ts";
import { t } from "#ui/i18n/index.ts";
import type { Platform } from "#ui/platform/types.ts";
import { isBusy } from "./format.ts";
import {
  announce,
  clearSelection,
  type BoardModel,
  type MoveWish,
  type Recovering,
  type Refused,
} from "./model.ts";
import { anchorOf, type PendingMove, type Place } from "./order.ts";
import { leavesWork } from "#ui/domain/closing/closing.ts";
import { refusal, stateAfter, type Refusal } from "./rules.ts";

export interface Acting {
  readonly platform: Platform;
  readonly client: QueryClient;
  readonly model: BoardModel;
}

function reread({ client, model }: Acting): Promise<void> {
  const tag = `board:${model.projectId}`;
  return client.invalidateQueries({ predicate: (query) => tagsOf(query).includes(tag) });
}

function fail(title: string, thrown: unknown): void {
  const error = ApiError.from(thrown);
  // The person was asked, and keeps the programs in the terminals.
  if (error.code === "terminal_busy") return;
  showToast({ tone: "danger", title, detail: errorText(error) });
}

function setPending(model: BoardModel, moves: readonly PendingMove[]): void {
  const pending = new Map(model.state.getState().pending);
  for (const move of moves) pending.set(move.task.id, move);
  model.state.setState({ pending });
}

function dropPending(model: BoardModel, moves: readonly PendingMove[]): void {
  const pending = new Map(model.state.getState().pending);
  for (const move of moves) {
    // A later move of the same card stands until its own answer.
    if (pending.get(move.task.id) === move) pending.delete(move.task.id);
  }
  model.state.setState({ pending });
}

/** Says why cards stay where they are. */
export function refuse(model: BoardModel, refused: Refusal): void {
  showToast({ tone: "warning", title: t("board.closed", refused) });
  announce(model, t("board.closed", refused));
}

/** Moves cards, unless that stops something or leaves work behind: then it asks. */
export function move(acting: Acting, wish: MoveWish): void {
  const { model } = acting;
  const column = model.shown().find((shown) => shown.column.name === wish.column)?.column;
  const view = model.view();
  if (!column || !view) return;
  const refused = refusal(view, wish.tasks, column);
  if (refused) {
    refuse(model, refused);
    return;
  }
  const asks = wish.tasks.some((task) => {
    const to = stateAfter(task, column);
    return to !== task.status && (isBusy(task) || leavesWork(view, task, to));
  });
  if (asks) model.state.setState({ asking: wish });
  else void moveNow(acting, wish);
}

/** Where cards stood that an agent has been told to start on. */
const startedFrom = new Map<string, { readonly status: string; readonly place: Place }>();

/** Beside which card a task stands, the cards that are moved with it left out below it. */
function oldPlace(model: BoardModel, task: Task, moved: readonly Task[]): Place {
  const items = model.find(task.id)?.column.items ?? [];
  const at = items.findIndex(({ id }) => id === task.id);
  const below = items.slice(at + 1).find(({ id }) => moved.every((each) => each.id !== id));
  const above = items[at - 1];
  if (below) return { before_id: below.id };
  return above ? { after_id: above.id } : {};
}

export async function moveNow(acting: Acting, wish: MoveWish): Promise<void> {
  const { platform, model } = acting;
  const column = model.shown().find((shown) => shown.column.name === wish.column)?.column;
  const stateOf = (task: Task) => wish.to ?? (column && stateAfter(task, column)) ?? task.status;
  const moves = wish.tasks.map((task, index): PendingMove => {
    const previous = wish.tasks[index - 1];
    const place: Place = previous ? { after_id: previous.id } : wish.place;
    return { task, column: wish.column, to: stateOf(task), place };
  });
  const from = new Map(wish.tasks.map((task) => [task.id, oldPlace(model, task, wish.tasks)]));
  setPending(model, moves);
  announce(
    model,
    t("board.announce.moved", {
      count: moves.length,
      number: wish.tasks[0]?.number ?? 0,
      column: wish.column,
    }),
  );
  const done: Moved[] = [];
  for (const pending of moves) {
    const { task, to, place } = pending;
    const anchor = anchorOf(place);
    if (to === task.status && !anchor.before_id && !anchor.after_id) continue;
    try {
      const answer = await call(platform, "task_move", {
        task_id: task.id,
        to,
        ...anchor,
        version: task.version,
        wait: "none",
      });
      const moved = { task, to, place: from.get(task.id) ?? {} };
      // A start that waits is told of, and taken back, as long as it waits.
      if (answer.task.waiting?.reason !== "undo") done.push(moved);
      else startedFrom.set(task.id, { status: task.status, place: moved.place });
    } catch (error) {
      dropPending(model, [pending]);
      announce(model, t("board.announce.refused", { number: task.number }));
      fail(t("board.notMoved", { number: task.number }), error);
    }
  }
  await reread(acting);
  dropPending(model, moves);
  clearSelection(model);
  const view = model.view();
  if (view) offerMoveBack(platform, view, done, wish.column);
}

type Started = Pick<Task, "id" | "number">;

/** Takes a start back, and puts the card where it was. */
export async function undoStart(acting: Acting, { id, number }: Started): Promise<void> {
  const { platform, model } = acting;
  const { status, version } = await call(platform, "task_undo", { task_id: id });
  const from = startedFrom.get(id);
  startedFrom.delete(id);
  if (from && from.status === status) {
    await call(platform, "task_move", {
      task_id: id,
      to: status,
      ...from.place,
      version,
      wait: "none",
    });
  }
  announce(model, t("board.announce.undone", { number }));
  await reread(acting);
}

export async function undo(acting: Acting, task: Started): Promise<void> {
  try {
    await undoStart(acting, task);
  } catch (error) {
    fail(t("board.notUndone", { number: task.number }), error);
    await reread(acting);
  }
}

/** Does one operation to a card; says why it was not done. */
export const perform =
  (acting: Acting, number: number): Perform =>
  async (op, input) => {
    try {
      return await call(acting.platform, op, input);
    } catch (error) {
      fail(t("board.notChanged", { number }), error);
      return null;
    } finally {
      await reread(acting);
    }
  };

/** Answers the tasks that it was done to, as they were before. */
async function each(
  acting: Acting,
  tasks: readonly Task[],
  act: (task: Task) => Promise<unknown>,
): Promise<readonly Task[]> {
  const done: Task[] = [];
  for (const task of tasks) {
    try {
      await act(task);
      done.push(task);
    } catch (error) {
      fail(t("board.notChanged", { number: task.number }), error);
    }
  }
  await reread(acting);
  return done;
}

export async function rename(acting: Acting, task: Task, title: string): Promise<void> {
  await each(acting, [task], () =>
    call(acting.platform, "task_update", { task_id: task.id, version: task.version, title }),
  );
}

export async function setPriority(
  acting: Acting,
  tasks: readonly Task[],
  priority: number,
): Promise<void> {
  const others = tasks.filter((task) => task.priority !== priority);
  const done = await each(acting, others, (task) =>
    call(acting.platform, "task_update", { task_id: task.id, version: task.version, priority }),
  );
  offerPriorityBack(acting.platform, done, priority);
}

/** Starts what an agent holds, of these tasks. */
export async function start(acting: Acting, tasks: readonly Task[]): Promise<void> {
  const view = acting.model.view() ?? undefined;
  const ready = tasks.flatMap((task) => {
    const agent = starterOf(task, view);
    return agent === null ? [] : [{ task, agent }];
  });
  if (ready.length === 0) {
    showToast({ tone: "warning", title: t("task.closed.noStart", { count: tasks.length }) });
    return;
  }
  const agents = new Map(ready.map(({ task, agent }) => [task.id, agent]));
  await each(
    acting,
    ready.map(({ task }) => task),
    ({ id, version }) =>
      call(acting.platform, "task_claim", { task_id: id, agent_id: agents.get(id) ?? "", version }),
  );
}

/** Stops the agents that work on these tasks. */
export async function stop(acting: Acting, tasks: readonly Task[]): Promise<void> {
  const working = tasks.filter(({ live }) => live !== null);
  if (working.length === 0) {
    showToast({ tone: "warning", title: t("task.closed.noStop", { count: tasks.length }) });
    return;
  }
  await each(acting, working, ({ live }) =>
    call(acting.platform, "execution_stop", { execution_id: live?.execution_id ?? "" }),
  );
}

export async function remove(acting: Acting, tasks: readonly Task[]): Promise<void> {
  await each(acting, tasks, ({ id, version }) =>
    call(acting.platform, "task_delete", { task_id: id, version }),
  );
  clearSelection(acting.model);
}

/** Begins with no further task of those that something is being done to. */
export function stopRecovery(model: BoardModel): void {
  model.state.setState(({ recovering }) => ({
    recovering: recovering && { ...recovering, isStopped: true },
  }));
}

/** Does to each of these tasks what was chosen; those that it was not done to stay selected, with the reason. */
export async function recover(acting: Acting, { verb, label, tasks }: Recovering): Promise<void> {
  const { platform, model } = acting;
  const refused: Refused[] = [];
  const left = new Set(tasks.map(({ id }) => id));
  for (const [done, task] of tasks.entries()) {
    if (model.state.getState().recovering?.isStopped) break;
    model.state.setState({ recovering: { verb, label, tasks, done } });
    left.delete(task.id);
    try {
      const { id, version } = task;
      const answer = await call(platform, "task_action", {
        task_id: id,
        verb,
        version,
        wait: "none",
      });
      // A guard may have sent it back at once, with words of its own.
      const again = answer.task.error_annotation;
      if (again && again.at !== task.error_annotation?.at) {
        refused.push({ task, error: new ApiError({ code: again.type, message: again.message }) });
      }
    } catch (error) {
      refused.push({ task, error: ApiError.from(error) });
    }
  }
  await reread(acting);
  const count = tasks.length - left.size - refused.length;
  const kept = new Set([...left, ...refused.map(({ task }) => task.id)]);
  if (kept.size === 0) clearSelection(model);
  else model.state.setState({ selected: kept });
  model.state.setState({
    recovering: null,
    refused: refused.length > 0 ? { verb, tasks: refused } : null,
  });
  if (count > 0) showToast({ tone: "success", title: t(`board.recover.${verb}.done`, { count }) });
}

export async function assign(
  acting: Acting,
  tasks: readonly Task[],
  role: string,
  holder: string | null,
): Promise<void> {
  const done = await each(acting, tasks, (task) =>
    call(acting.platform, "task_assign", { task_id: task.id, role, holder, version: task.version }),
  );
  offerRoleBack(acting.platform, done, role, holder);
}
