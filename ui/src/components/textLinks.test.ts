import { expect, it } from "vitest";
import { parseAnsi } from "./ansi.ts";
import { cutAtLinks } from "./textLinks.ts";

const said = (text: string, from: number, to: number) =>
  cutAtLinks(parseAnsi(text), [{ from, to, href: "#x" }]).map(({ spans, href }) => [
    spans.map((span) => span.text).join("|"),
    href ?? null,
  ]);

it("cuts a text at its links, also where a link has several colours", () => {
  expect(said("see a.ts:3 there", 4, 10)).toEqual([
    ["see ", null],
    ["a.ts:3", "#x"],
    [" there", null],
  ]);
  expect(said("\u001B[31ma.ts\u001B[0m:\u001B[33m3\u001B[0m", 0, 6)).toEqual([["a.ts|:|3", "#x"]]);
});

it("leaves a text without links whole", () => {
  expect(cutAtLinks(parseAnsi("plain"), [])).toHaveLength(1);
});
