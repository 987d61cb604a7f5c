/** Micro-dollars by the locale of the page: "$12.30", "$0.0042": what is not nothing never reads as nothing. */
export function money(microUsd: number): string {
  const usd = microUsd / 1_000_000;
  const digits = usd === 0 || Math.abs(usd) >= 0.01 ? 2 : Math.abs(usd) >= 0.0001 ? 4 : 6;
  return new Intl.NumberFormat(navigator.language, {
    style: "currency",
    currency: "USD",
    minimumFractionDigits: 2,
    maximumFractionDigits: digits,
  }).format(usd);
}
