import { describe, expect, it } from "vitest";
import {
  countLines,
  findings,
  firstLine,
  miniDiff,
  planSteps,
  promptSubject,
  shortInput,
} from "./present.ts";

describe("present", () => {
  it("keeps of a unified diff what changed", () => {
    const lines = miniDiff(
      "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1,2 @@\n-old\n+new\n+\n same\n\\ No newline at end of file\n",
    );
    expect(lines).toEqual([
      { kind: "hunk", text: "@@ -1 +1,2 @@" },
      { kind: "removed", text: "old" },
      { kind: "added", text: "new" },
      { kind: "added", text: "" },
      { kind: "context", text: "same" },
    ]);
    expect(countLines(lines)).toEqual({ added: 2, removed: 1 });
  });

  it("marks the first open step of a plan as the current one", () => {
    const steps = [{ text: "a", done: true }, { text: "b" }, { text: "c", done: false }, "odd"];
    expect(planSteps({ steps })).toEqual([
      { text: "a", done: true, current: false },
      { text: "b", done: false, current: true },
      { text: "c", done: false, current: false },
    ]);
  });

  it.each<[unknown, string]>([
    [{ pattern: "x", file_path: "src/a.ts" }, "src/a.ts"],
    [{ depth: 2 }, '{"depth":2}'],
    ["two\nlines", "two"],
    [null, ""],
    [undefined, ""],
  ])("says a tool's input %j in one line", (input, line) => {
    expect(shortInput(input)).toBe(line);
  });

  it("reads findings and survives what is none", () => {
    expect(findings({ findings: [{ file: "a.ts", line: 3, text: "no" }, 7] })).toEqual([
      { file: "a.ts", line: 3, severity: null, text: "no" },
    ]);
    expect(findings({ findings: "none" })).toEqual([]);
    expect(firstLine("\n\n  hello \n")).toBe("hello");
  });

  const rules = "# How you work here\n\nYou work in a git worktree of your own.\n";
  it.each<[string, string]>([
    [
      `${rules}\n# Task #3: Count the letters\n\n# A heading of its text\n`,
      "#3: Count the letters",
    ],
    [
      `${rules}\n# Task #3: Count the letters\n\n# Your turn now: subtask #4: Write tests\n`,
      "#4: Write tests",
    ],
    [`Be brief.\n\n${rules}\n# Task #7: Greet a list\n`, "#7: Greet a list"],
    ["# This is attempt 2 of 3\n\nThe check failed.", "This is attempt 2 of 3"],
    ["\nMake the last test pass.\nThen stop.", "Make the last test pass."],
    ["", ""],
  ])("names a prompt by its task: %j", (text, subject) => {
    expect(promptSubject(text)).toBe(subject);
  });
});
