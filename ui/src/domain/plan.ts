import type { State } from "#ui/api/generated.ts";

/** Whether nobody leaves a state before a plan is written: what is judged there is the plan. */
export const asksForPlan = (state: Pick<State, "hooks"> | null | undefined): boolean =>
  state?.hooks?.before_exit?.some(({ action }) => action === "require_plan_complete") ?? false;
