/** Costs and times as the costs page says them. Pure but for the page's locale. */
const locale = (): string => navigator.language;

/** Micro-dollars: "$12.30", "$0.0042": what is not nothing never reads as nothing. */
export function money(microUsd: number): string {
  const usd = microUsd / 1_000_000;
  const digits = usd === 0 || Math.abs(usd) >= 0.01 ? 2 : Math.abs(usd) >= 0.0001 ? 4 : 6;
  return new Intl.NumberFormat(locale(), {
    style: "currency",
    currency: "USD",
    minimumFractionDigits: 2,
    maximumFractionDigits: digits,
  }).format(usd);
}

/** "812", "12.4K". */
export const compact = (count: number): string =>
  new Intl.NumberFormat(locale(), { notation: "compact", maximumFractionDigits: 1 }).format(count);

export const whole = (count: number): string => new Intl.NumberFormat(locale()).format(count);

/** 0 to 1: "43%". */
export const share = (part: number): string =>
  new Intl.NumberFormat(locale(), { style: "percent", maximumFractionDigits: 0 }).format(part);

/** How many medians: "2.5×". */
export const times = (ratio: number): string =>
  `${new Intl.NumberFormat(locale(), { maximumFractionDigits: 2 }).format(ratio)}×`;

/** A day that the engine names, `2026-01-31`: it is a date, not an instant. */
export function day(key: string): string {
  const date = new Date(`${key}T00:00:00Z`);
  if (Number.isNaN(date.getTime())) return key;
  return date.toLocaleDateString(locale(), { dateStyle: "medium", timeZone: "UTC" });
}

export const instant = (at: string | number): string =>
  new Date(at).toLocaleString(locale(), { dateStyle: "medium", timeStyle: "short" });
