/** Where what a notification tells of is to be seen. Pure. */
import { formatRoute } from "./router.ts";

export interface Notice {
  readonly project: string;
  readonly number: number;
  /** Why it was told; anything else leads to the task. */
  readonly kind: string | null;
}

/** The address. `beside` leaves a task beside its board, where the person is at work. */
export function placeOf({ project, number, kind }: Notice, look: "page" | "beside"): string {
  if (kind === "cost_anomaly") return formatRoute("costs", {}, { of: project });
  const tab = kind === "race_decided" ? { tab: "race" } : {};
  const task = String(number);
  return look === "page"
    ? formatRoute("task", { project, number: task }, tab)
    : formatRoute("board", { project }, { task, ...tab });
}
