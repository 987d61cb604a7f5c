/** What a column is for, to somebody who sees it for the first time. Pure. */
import type { State } from "#ui/api/generated.ts";
import { asksForPlan } from "#ui/domain/plan.ts";

export type Meaning =
  | "backlog"
  | "initial"
  | "active"
  | "plan"
  | "review"
  | "merging"
  | "blocked"
  | "done"
  | "cancelled"
  | "custom";

type Known = State & { readonly cancels?: boolean };

const runs = ({ hooks }: State, wanted: string): boolean =>
  [hooks?.before_enter, hooks?.on_enter, hooks?.after_enter].some((list) =>
    (list ?? []).some(({ action }) => action === wanted),
  );

export function meaningOf(state: Known | undefined): Meaning {
  if (!state) return "custom";
  if (state.cancels) return "cancelled";
  switch (state.kind) {
    case "terminal":
      return "done";
    case "gate":
      if (runs(state, "run_merge")) return "merging";
      return asksForPlan(state) ? "plan" : "review";
    case "active":
      return runs(state, "run_merge") ? "merging" : "active";
    case "backlog":
    case "initial":
    case "blocked":
    case "custom":
      return state.kind;
  }
}
