/** Costs and times as the costs page says them. Pure but for the page's locale. */
export { money } from "#ui/domain/money.ts";
export { percent as share } from "#ui/domain/percent.ts";

const locale = (): string => navigator.language;

/** "812", "12.4K". */
export const compact = (count: number): string =>
  new Intl.NumberFormat(locale(), { notation: "compact", maximumFractionDigits: 1 }).format(count);

export const whole = (count: number): string => new Intl.NumberFormat(locale()).format(count);

/** How many medians: "2.5×". */
export const times = (ratio: number): string =>
  `${new Intl.NumberFormat(locale(), { maximumFractionDigits: 2 }).format(ratio)}×`;

/** A day that the engine names, `2026-01-31`: it is a date, not an instant. */
export function day(key: string): string {
  const date = new Date(`${key}T00:00:00Z`);
  if (Number.isNaN(date.getTime())) return key;
  return date.toLocaleDateString(locale(), { dateStyle: "medium", timeZone: "UTC" });
}

/** The marks of an axis that are so many seconds apart: times get their day where it begins, and stand once. */
export function ticks(seconds: readonly number[], step: number): string[] {
  const format = (options: Intl.DateTimeFormatOptions) =>
    new Intl.DateTimeFormat(locale(), options);
  const day = format({ month: "short", day: "numeric" });
  if (step >= 86_400) {
    const long = step < 27 * 86_400 ? day : format({ month: "short", year: "numeric" });
    return seconds.map((at) => long.format(at * 1_000));
  }
  const second = step < 60 ? ({ second: "2-digit" } as const) : {};
  const time = format({ hour: "numeric", minute: "2-digit", ...second });
  let last = { date: "", text: "" };
  return seconds.map((at) => {
    const [date, text] = [day.format(at * 1_000), time.format(at * 1_000)];
    const told = date !== last.date ? `${text}\n${date}` : text === last.text ? "" : text;
    last = { date, text };
    return told;
  });
}

export const instant = (at: string | number): string =>
  new Date(at).toLocaleString(locale(), { dateStyle: "medium", timeStyle: "short" });

/** The time of day: "6:40 PM". */
export const clock = (at: string): string =>
  new Date(at).toLocaleTimeString(locale(), { timeStyle: "short" });
