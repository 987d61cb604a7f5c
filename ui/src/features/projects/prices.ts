/** Dollars as people type them, micro-dollars as the engine keeps them. Pure. */
import type { ModelPrice } from "#ui/api/generated.ts";

const perDollar = 1_000_000;

export const inDollars = (micro: number | null | undefined): string =>
  micro == null ? "" : String(micro / perDollar);

/** Null for nothing typed, or for no number. */
export function inMicro(text: string): number | null {
  if (!/\d/.test(text)) return null;
  const dollars = Number(text);
  return Number.isFinite(dollars) ? Math.round(dollars * perDollar) : null;
}

/** A number of dollars while it is typed: digits and one point. */
export const typedDollars = (text: string): string =>
  text
    .replace(",", ".")
    .replaceAll(/[^\d.]/g, "")
    .replace(/^(\d*\.\d*).*$/, "$1");

export const priceFields = ["input", "cache_read", "cache_write", "output"] as const;
export type PriceField = (typeof priceFields)[number];

export interface PriceRow {
  readonly model: string;
  readonly prices: Readonly<Record<PriceField, string>>;
}

export const emptyRow: PriceRow = {
  model: "",
  prices: { input: "", cache_read: "", cache_write: "", output: "" },
};

export function rowsOf(prices: Readonly<Record<string, ModelPrice>>): readonly PriceRow[] {
  return Object.entries(prices).map(([model, price]) => ({
    model,
    prices: {
      input: inDollars(price.input),
      cache_read: inDollars(price.cache_read),
      cache_write: inDollars(price.cache_write),
      output: inDollars(price.output),
    },
  }));
}

/** What keeps a row from being saved; null when nothing does. A row without a word is none. */
export function wrongIn(rows: readonly PriceRow[]): "model" | "price" | "twice" | null {
  const models = rows.filter(isSaid).map(({ model }) => model.trim());
  if (models.includes("")) return "model";
  if (new Set(models).size < models.length) return "twice";
  const priced = rows
    .filter(isSaid)
    .every(({ prices }) => inMicro(prices.input) !== null && inMicro(prices.output) !== null);
  return priced ? null : "price";
}

export const isSaid = ({ model, prices }: PriceRow): boolean =>
  model.trim() !== "" || Object.values(prices).some((text) => text !== "");

function priceOf({ prices }: PriceRow): ModelPrice {
  const read = inMicro(prices.cache_read);
  const write = inMicro(prices.cache_write);
  return {
    input: inMicro(prices.input),
    ...(read === null ? {} : { cache_read: read }),
    ...(write === null ? {} : { cache_write: write }),
    output: inMicro(prices.output),
  };
}

/**
 * The merge patch from what is saved to what is typed. What is gone is named with null, also a cache's
 * price that was taken out; null when nothing is left, which returns to the default.
 */
export function pricesPatch(
  saved: Readonly<Record<string, ModelPrice>>,
  rows: readonly PriceRow[],
): Record<string, object | null> | null {
  const wanted = new Map(
    rows.filter(isSaid).map((row) => [row.model.trim(), priceOf(row)] as const),
  );
  if (wanted.size === 0) return null;
  const patch: Record<string, object | null> = {};
  for (const model of Object.keys(saved)) if (!wanted.has(model)) patch[model] = null;
  for (const [model, price] of wanted) {
    patch[model] = saved[model] ? { cache_read: null, cache_write: null, ...price } : price;
  }
  return patch;
}
