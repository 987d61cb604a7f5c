/** Bytes as people read them. Pure; by the locale of the page unless one is given. */
const units = ["byte", "kilobyte", "megabyte", "gigabyte", "terabyte"] as const;

/** "1 byte", "812 bytes", "12.4 kB", "3.1 MB", "1.2 GB". */
export function bytes(count: number, locale: string = navigator.language): string {
  const step = count < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log10(count) / 3));
  return new Intl.NumberFormat(locale, {
    style: "unit",
    unit: units[step] ?? "byte",
    // Only bytes have no short form that everybody reads, and a plural.
    unitDisplay: step === 0 ? "long" : "short",
    maximumFractionDigits: step === 0 ? 0 : 1,
  }).format(count / 1_000 ** step);
}
