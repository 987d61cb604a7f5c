/** Where a task stands in its review, in one word. Pure. */
import type { Task } from "#ui/api/generated.ts";

export type Stand = "auditing" | "checks" | "awaits" | "rejected";

export function standOf({ live, review }: Pick<Task, "live" | "review">): Stand | null {
  switch (review?.status) {
    case "running":
      return live?.role === "reviewer" ? "auditing" : "checks";
    case "awaiting_human":
      return "awaits";
    case "failed":
      return "rejected";
    default:
      return null;
  }
}
