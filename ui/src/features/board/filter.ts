/** What of the board is shown, as it stands in the address. Pure. */
import { placeOf } from "#ui/domain/machines/machines.ts";
import type { Task } from "#ui/api/generated.ts";
import type { Query } from "#ui/app/router.ts";
import type { Grouping } from "./groups.ts";

export interface BoardFilter {
  readonly text: string;
  /** Agents' ids; empty: everybody's tasks. */
  readonly agents: readonly string[];
  /** States' names; empty: all. */
  readonly states: readonly string[];
  /** Machines' ids, `local` for this computer; empty: all, also tasks without a worktree. */
  readonly machines: readonly string[];
  readonly group: Grouping;
  readonly hidden: boolean;
  /** Whether text, agents, states or machines leave something out. */
  readonly narrowed: boolean;
}

const list = (value: string | undefined) => (value ? value.split(",") : []);

export function readFilter(query: Query): BoardFilter {
  const text = query["q"] ?? "";
  const agents = list(query["agent"]);
  const states = list(query["state"]);
  const machines = list(query["machine"]);
  const group = query["group"];
  return {
    text,
    agents,
    states,
    machines,
    group: group === "priority" || group === "agent" ? group : "none",
    hidden: query["hidden"] === "1",
    narrowed: text !== "" || [agents, states, machines].some(({ length }) => length > 0),
  };
}

export function toggled(chosen: readonly string[], value: string): string | null {
  const next = chosen.includes(value)
    ? chosen.filter((each) => each !== value)
    : [...chosen, value];
  return next.length > 0 ? next.join(",") : null;
}

/** The one machine that the engine is asked for; several are told apart here. */
export const askedMachine = ({ machines }: BoardFilter): string | null =>
  machines.length === 1 ? (machines[0] ?? null) : null;

/** Whether a task's worktree is on one of the machines. */
export const isOn = (task: Task, machines: readonly string[]): boolean =>
  machines.length === 0 || machines.includes(placeOf(task) ?? "");
