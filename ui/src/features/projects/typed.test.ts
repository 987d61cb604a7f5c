import { expect, it } from "vitest";
import { typing, type TextKind } from "./typed.ts";

it.each<[TextKind, unknown, string]>([
  ["text", "main", "main"],
  ["text", 4, "4"],
  ["text", null, ""],
  ["number", 1800, "1800"],
  ["decimal", 2.5, "2.5"],
  ["dollars", 12_500_000, "12.5"],
  ["dollars", "much", ""],
])("%s shows %j as %j", (kind, value, text) => {
  expect(typing[kind].shown(value)).toBe(text);
});

it.each<[TextKind, string, string, string | number | null]>([
  ["text", " main ", " main ", "main"],
  ["text", " ", " ", null],
  ["number", "1,8x0", "180", 180],
  ["number", "", "", null],
  ["decimal", "2.5%", "2.5", 2.5],
  ["dollars", "12,5 $", "12.5", 12_500_000],
  ["dollars", ".", ".", null],
])("%s takes %j as %j, which says %j", (kind, keyed, text, value) => {
  expect(typing[kind].typed(keyed)).toBe(text);
  expect(typing[kind].said(text)).toBe(value);
});
