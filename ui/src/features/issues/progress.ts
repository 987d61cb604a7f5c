/** How far an import is. Pure. */
import type { ImportCounts, IssueImport } from "#ui/api/generated.ts";

/** In the order in which they are told. */
export const outcomes = [
  "created",
  "updated",
  "unchanged",
  "differs",
  "skipped",
  "failed",
] as const satisfies readonly (keyof ImportCounts)[];

export const doneOf = (counts: ImportCounts): number =>
  outcomes.reduce((sum, outcome) => sum + counts[outcome], 0);

/** One that goes on, or that a person can have go on. */
export const isOpen = ({ status }: IssueImport): boolean =>
  status === "running" || status === "waiting" || status === "failed";
