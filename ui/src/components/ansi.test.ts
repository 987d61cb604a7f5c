import { describe, expect, it } from "vitest";
import { parseAnsi } from "./ansi.ts";

const esc = "\u001b";
const check = (source: string) => parseAnsi(source).map(({ text, style }) => [text, style]);

describe("parseAnsi", () => {
  it.each<[string, string, unknown]>([
    ["plain text", "hello\nworld", [["hello\nworld", {}]]],
    [
      "a colour and its end",
      `a${esc}[31mb${esc}[0mc`,
      [
        ["a", {}],
        ["b", { fg: 1 }],
        ["c", {}],
      ],
    ],
    [
      "an empty SGR as reset",
      `${esc}[1mb${esc}[mc`,
      [
        ["b", { bold: true }],
        ["c", {}],
      ],
    ],
    ["bright and background", `${esc}[92;41mx`, [["x", { fg: 10, bg: 1 }]]],
    [
      "256 colours",
      `${esc}[38;5;9mx${esc}[38;5;196my${esc}[48;5;232mz`,
      [
        ["x", { fg: 9 }],
        ["y", { fg: "rgb(255 0 0)" }],
        ["z", { fg: "rgb(255 0 0)", bg: "rgb(8 8 8)" }],
      ],
    ],
    [
      "true colour, both spellings",
      `${esc}[38;2;1;2;3mx${esc}[0;38;5;1my`,
      [
        ["x", { fg: "rgb(1 2 3)" }],
        ["y", { fg: 1 }],
      ],
    ],
    [
      "switching off one attribute",
      `${esc}[1;4mx${esc}[24my`,
      [
        ["x", { bold: true, underline: true }],
        ["y", { bold: true }],
      ],
    ],
    [
      "cursor moves dropped",
      `a${esc}[2K${esc}[1Gb`,
      [
        ["a", {}],
        ["b", {}],
      ],
    ],
    [
      "titles and links dropped",
      `${esc}]0;title\u0007a${esc}]8;;http://x${esc}\\b`,
      [
        ["a", {}],
        ["b", {}],
      ],
    ],
    ["carriage returns overwrite", "10%\r50%\r100%\ndone\r\nend", [["100%\ndone\nend", {}]]],
    ["a broken colour ignored", `${esc}[38;2;999mx`, [["x", {}]]],
    ["an unfinished escape dropped", `x${esc}`, [["x", {}]]],
    ["bells dropped", "a\u0007b", [["ab", {}]]],
    ["markup kept as text", "<img src=x onerror=alert(1)>", [["<img src=x onerror=alert(1)>", {}]]],
  ])("reads %s", (_, source, expected) => {
    expect(check(source)).toEqual(expected);
  });
});
