/** What a task's state means to the person, whatever the workflow calls it. Pure. */
import type { State, Task } from "#ui/api/generated.ts";
import type { StateKind } from "#ui/components/StateGlyph.tsx";

export function kindOfState(state: State | undefined, cancellation?: string): StateKind {
  switch (state?.kind) {
    case undefined:
    case "custom":
      return "custom";
    case "terminal":
      return state?.name === cancellation ? "cancelled" : "done";
    case "backlog":
    case "initial":
    case "active":
    case "gate":
    case "blocked":
      return state?.kind ?? "custom";
  }
}

type Facts = Pick<
  Task,
  "error_annotation" | "waiting" | "review" | "closed_unmerged" | "unmerged_commits"
>;

/** The glyph of a task: what it waits for goes before where it is. */
export function glyphOf(
  task: Facts,
  state: (State & { readonly cancels?: boolean }) | undefined,
): StateKind {
  const kind = state?.cancels ? "cancelled" : kindOfState(state);
  if (kind === "done" && (task.closed_unmerged || task.unmerged_commits > 0)) return "unmerged";
  if (kind === "done" || kind === "cancelled" || kind === "blocked") return kind;
  if (task.error_annotation) return "failed";
  if (kind === "gate" && task.review?.status === "awaiting_human") return "awaiting";
  if (task.waiting) return task.waiting.reason === "race_crown" ? "awaiting" : "waiting";
  return kind;
}
