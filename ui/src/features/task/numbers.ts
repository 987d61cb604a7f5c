/** Numbers as the task panel says them; by the locale of the page. */
export { money } from "#ui/domain/money.ts";

const locale = (): string => navigator.language;

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
