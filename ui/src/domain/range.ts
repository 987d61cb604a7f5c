/** The time that a page of figures looks at. Pure: the clock is an argument. */
export const ranges = ["7", "30", "90", "all"] as const;
export type Range = (typeof ranges)[number];

export const rangeOf = (text: string | undefined): Range =>
  ranges.find((range) => range === text) ?? "30";

/**
 * Since when, as the contract wants it; absent for all time. Whole days, so that the input (and with it what is
 * cached) stays the same while the page is open.
 */
export function since(range: Range, now: number): { readonly since?: string } {
  if (range === "all") return {};
  const midnight = new Date(now);
  midnight.setHours(0, 0, 0, 0);
  midnight.setDate(midnight.getDate() - (Number(range) - 1));
  return { since: midnight.toISOString() };
}
