/** What a person does to cards. Every act ends in one operation of the contract. */
import type { QueryClient } from "@tanstack/react-query";
import { call } from "#ui/api/client.ts";
import { tagsOf } from "#ui/api/changes.ts";
import { ApiError, errorText } from "#ui/api/error.ts";
import type { Task } from "#ui/api/generated.ts";
import { showToast } from "#ui/components/Toast.tsx";
import { t } from "#ui/i18n/index.ts";
import type { Platform } from "#ui/platform/types.ts";
import { isBusy } from "./format.ts";
import { announce, clearSelection, type BoardModel, type MoveWish } from "./model.ts";
import { anchorOf, type PendingMove, type Place } from "./order.ts";
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

function fail(title: string, error: unknown): void {
  showToast({ tone: "danger", title, detail: errorText(ApiError.from(error)) });
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

/** Moves cards, unless that stops something: then it asks. */
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
  const stops = wish.tasks.some((task) => stateAfter(task, column) !== task.status && isBusy(task));
  if (stops) model.state.setState({ asking: wish });
  else void moveNow(acting, wish);
}

export async function moveNow(acting: Acting, wish: MoveWish): Promise<void> {
  const { platform, model } = acting;
  const column = model.shown().find((shown) => shown.column.name === wish.column)?.column;
  if (!column) return;
  const moves = wish.tasks.map((task, index): PendingMove => {
    const previous = wish.tasks[index - 1];
    const place: Place = previous ? { after_id: previous.id } : wish.place;
    return { task, column: column.name, to: stateAfter(task, column), place };
  });
  setPending(model, moves);
  announce(
    model,
    t("board.announce.moved", {
      count: moves.length,
      number: wish.tasks[0]?.number ?? 0,
      column: column.name,
    }),
  );
  for (const pending of moves) {
    const { task, to, place } = pending;
    const anchor = anchorOf(place);
    if (to === task.status && !anchor.before_id && !anchor.after_id) continue;
    try {
      await call(platform, "task_move", {
        task_id: task.id,
        to,
        ...anchor,
        version: task.version,
        wait: "none",
      });
    } catch (error) {
      dropPending(model, [pending]);
      announce(model, t("board.announce.refused", { number: task.number }));
      fail(t("board.notMoved", { number: task.number }), error);
    }
  }
  await reread(acting);
  dropPending(model, moves);
  clearSelection(model);
}

export async function undo(acting: Acting, task: Pick<Task, "id" | "number">): Promise<void> {
  try {
    await call(acting.platform, "task_undo", { task_id: task.id });
    announce(acting.model, t("board.announce.undone", { number: task.number }));
  } catch (error) {
    fail(t("board.notUndone", { number: task.number }), error);
  }
  await reread(acting);
}

async function each(
  acting: Acting,
  tasks: readonly Task[],
  act: (task: Task) => Promise<unknown>,
): Promise<void> {
  for (const task of tasks) {
    try {
      await act(task);
    } catch (error) {
      fail(t("board.notChanged", { number: task.number }), error);
    }
  }
  await reread(acting);
}

export function rename(acting: Acting, task: Task, title: string): Promise<void> {
  return each(acting, [task], () =>
    call(acting.platform, "task_update", { task_id: task.id, version: task.version, title }),
  );
}

export function setPriority(
  acting: Acting,
  tasks: readonly Task[],
  priority: number,
): Promise<void> {
  return each(acting, tasks, (task) =>
    call(acting.platform, "task_update", { task_id: task.id, version: task.version, priority }),
  );
}

export function assign(
  acting: Acting,
  tasks: readonly Task[],
  role: string,
  holder: string | null,
): Promise<void> {
  return each(acting, tasks, (task) =>
    call(acting.platform, "task_assign", { task_id: task.id, role, holder, version: task.version }),
  );
}
