import { describe, expect, it } from "vitest";
import {
  emptyRow,
  inDollars,
  inMicro,
  pricesPatch,
  rowsOf,
  typedDollars,
  wrongIn,
} from "./prices.ts";

it.each([
  ["1.5", 1_500_000],
  ["0.000001", 1],
  ["", null],
  [".", null],
])("reads %j dollars", (text, micro) => {
  expect(inMicro(text)).toBe(micro);
});

it("writes dollars as they were typed", () => {
  expect(inDollars(2_500_000)).toBe("2.5");
  expect(inDollars(null)).toBe("");
  expect(typedDollars("$1,25.9")).toBe("1.25");
});

const saved = {
  old: { input: 1_000_000, output: 2_000_000 },
  kept: { input: 3_000_000, cache_read: 300_000, output: 15_000_000 },
};

describe("prices", () => {
  it("become rows and a patch that names what is gone", () => {
    const rows = rowsOf(saved).filter(({ model }) => model === "kept");
    const typed = { model: " new ", prices: { ...emptyRow.prices, input: "1", output: "4" } };
    expect(pricesPatch(saved, [...rows, typed, emptyRow])).toEqual({
      old: null,
      kept: { input: 3_000_000, cache_read: 300_000, cache_write: null, output: 15_000_000 },
      new: { input: 1_000_000, output: 4_000_000 },
    });
    expect(pricesPatch(saved, [emptyRow])).toBeNull();
  });

  it("say what is missing", () => {
    const row = (model: string, input: string, output: string) => ({
      model,
      prices: { ...emptyRow.prices, input, output },
    });
    expect(wrongIn([emptyRow, row("a", "1", "2")])).toBeNull();
    expect(wrongIn([row("", "1", "2")])).toBe("model");
    expect(wrongIn([row("a", "1", "")])).toBe("price");
    expect(wrongIn([row("a", "1", "2"), row("a ", "1", "2")])).toBe("twice");
  });
});
