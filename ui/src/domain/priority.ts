/** Priorities as people name them. The engine knows whole numbers, higher first. Pure. */
export type PriorityLevel = "none" | "low" | "medium" | "high" | "urgent";

export const priorityLevels: readonly PriorityLevel[] = ["urgent", "high", "medium", "low", "none"];

const numbers: Readonly<Record<PriorityLevel, number>> = {
  none: 0,
  low: 1,
  medium: 2,
  high: 3,
  urgent: 4,
};

export const priorityNumber = (level: PriorityLevel): number => numbers[level];

export function priorityLevel(priority: number): PriorityLevel {
  if (priority <= 0) return "none";
  if (priority >= 4) return "urgent";
  return (["low", "medium", "high"] as const)[Math.ceil(priority) - 1] ?? "high";
}
