/** What of the board is shown, as it stands in the address. Pure. */
import type { Query } from "#ui/app/router.ts";
import type { Grouping } from "./groups.ts";

export interface BoardFilter {
  readonly text: string;
  /** Agents' ids; empty: everybody's tasks. */
  readonly agents: readonly string[];
  /** States' names; empty: all. */
  readonly states: readonly string[];
  readonly group: Grouping;
  readonly hidden: boolean;
  /** Whether text, agents or states leave something out. */
  readonly narrowed: boolean;
}

const list = (value: string | undefined) => (value ? value.split(",") : []);

export function readFilter(query: Query): BoardFilter {
  const text = query["q"] ?? "";
  const agents = list(query["agent"]);
  const states = list(query["state"]);
  const group = query["group"];
  return {
    text,
    agents,
    states,
    group: group === "priority" || group === "agent" ? group : "none",
    hidden: query["hidden"] === "1",
    narrowed: text !== "" || agents.length > 0 || states.length > 0,
  };
}

export function toggled(chosen: readonly string[], value: string): string | null {
  const next = chosen.includes(value)
    ? chosen.filter((each) => each !== value)
    : [...chosen, value];
  return next.length > 0 ? next.join(",") : null;
}
