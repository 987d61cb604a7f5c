/** Where a task can be moved from its state, and whether somebody has to. Pure. */
import type { State, Task, Workflow } from "#ui/api/generated.ts";

export function stateOf(workflow: Workflow | undefined, name: string): State | undefined {
  return workflow?.states.find((state) => state.name === name);
}

export function isClosed(task: Task, workflow: Workflow | undefined): boolean {
  return stateOf(workflow, task.status)?.kind === "terminal";
}

/** The states a person may move it to. */
export function movesFrom(
  moves: readonly { readonly from: string; readonly to: readonly string[] }[],
  status: string,
): readonly string[] {
  return moves.find(({ from }) => from === status)?.to ?? [];
}

/** A state that somebody moves tasks on from: one of the project's own, or a gate that does nothing when it is entered. */
export function isByHand({ kind, hooks }: State): boolean {
  if (kind === "custom") return true;
  const acts = [hooks?.before_enter, hooks?.on_enter, hooks?.after_enter];
  return kind === "gate" && acts.every((list) => (list ?? []).length === 0);
}

/** Where its state leads, as the workflow names it: on first, then back. */
export function stepsFrom(
  state: State,
  moves: readonly { readonly from: string; readonly to: readonly string[] }[],
): readonly string[] {
  const open = movesFrom(moves, state.name);
  const order = ["accept", "retry", "reject", "fail"];
  const triggers = Object.entries(state.triggers ?? {}).toSorted(
    ([one], [other]) => place(order, one) - place(order, other),
  );
  const targets = triggers.map(([, { to }]) => to).filter((to) => open.includes(to));
  return [...new Set(targets)];
}

const place = (order: readonly string[], name: string): number =>
  order.includes(name) ? order.indexOf(name) : order.length;
