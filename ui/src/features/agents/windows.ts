/** The windows of a provider's rate limit: how each is called, and how near its end it is. Pure. */
import type { AgentLimits, LimitWindow } from "#ui/api/generated.ts";

const hour = 60;
const day = 24 * hour;

export type WindowLength =
  | { readonly unit: "days" | "hours" | "minutes"; readonly length: number }
  /** The program did not say how long it is. */
  | { readonly unit: "unknown"; readonly name: string };

/** The length in the largest unit that divides it. */
export function lengthOf({ minutes, name }: Pick<LimitWindow, "minutes" | "name">): WindowLength {
  if (minutes === null) return { unit: "unknown", name: name.replaceAll("_", " ") };
  if (minutes >= day && minutes % day === 0) return { unit: "days", length: minutes / day };
  if (minutes >= hour && minutes % hour === 0) return { unit: "hours", length: minutes / hour };
  return { unit: "minutes", length: minutes };
}

/** What has to be marked of a window; null while enough of it is left. */
export function markOf({
  used_percent: used,
}: Pick<LimitWindow, "used_percent">): "full" | "nearlyFull" | null {
  if (used >= 100) return "full";
  return used >= 90 ? "nearlyFull" : null;
}

/** Milliseconds until a window begins anew or a refusal ends, of which no change tells; false when none will. */
export function untilNextReset(
  limits: readonly AgentLimits[] | undefined,
  now: number,
): number | false {
  const ends = (limits ?? []).flatMap(({ limited_until, windows }) => [
    limited_until,
    ...windows.map(({ resets_at }) => resets_at),
  ]);
  const waits = ends
    .filter((end) => end !== null)
    .map((end) => Date.parse(end) - now)
    .filter((wait) => wait > 0);
  // A timer of a browser counts no more than 2^31 ms.
  return waits.length === 0 ? false : Math.min(...waits, 24 * 60 * 60 * 1000) + 1000;
}
