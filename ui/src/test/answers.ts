/** The types of a host's answers, by the contract, and the shapes that many answers share. */
import type { Operations, Task, TaskAndReview } from "#ui/api/generated.ts";

export type OpName = keyof Operations;
export type Input<Op extends OpName> = Operations[Op]["input"];
export type Output<Op extends OpName> = Operations[Op]["output"];

export type Handlers = {
  [Op in OpName]?: (input: Input<Op>) => Output<Op> | Promise<Output<Op>>;
};

/** All of a list as one page. */
export const pageOf = <Item>(items: readonly Item[]) => ({ items: [...items], next_cursor: null });

/** The shape of the contract's error, as a host rejects with it. */
export function refuse(
  code: string,
  message: string,
  details: unknown = null,
  hints: readonly string[] = [],
): never {
  throw { code, message, hints, details };
}

/** What a write that moves a task answers. */
export const movedTask = (task: Task): TaskAndReview => ({ task, review: null, notice: null });

/** A refusal of the input, with what is wrong at which field. */
export const refuseInput = (message: string, path: string, finding: string): never =>
  refuse("invalid", message, { findings: [{ path, message: finding }] });
