/** Numbers as the task panel says them; by the locale of the page. */
const locale = (): string => navigator.language;

/** Micro-dollars: "$0.42", "$12.30"; a fraction of a cent keeps its digits. */
export function money(microUsd: number): string {
  const usd = microUsd / 1_000_000;
  const digits = usd !== 0 && Math.abs(usd) < 0.01 ? 4 : 2;
  return new Intl.NumberFormat(locale(), {
    style: "currency",
    currency: "USD",
    minimumFractionDigits: 2,
    maximumFractionDigits: digits,
  }).format(usd);
}

/** "812", "12.4K", "3.1M". */
export function compact(count: number): string {
  return new Intl.NumberFormat(locale(), { notation: "compact", maximumFractionDigits: 1 }).format(
    count,
  );
}

export function whole(count: number): string {
  return new Intl.NumberFormat(locale()).format(count);
}

/** Below a second in milliseconds ("340ms"), else null: the caller says the longer ones. */
export function milliseconds(count: number): string | null {
  return count < 1_000 ? `${Math.round(count)}ms` : null;
}
