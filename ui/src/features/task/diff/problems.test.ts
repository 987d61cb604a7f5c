import { describe, expect, it } from "vitest";
import type { ReviewStep } from "#ui/api/generated.ts";
import { file } from "#ui/test/sampleChanges.ts";
import { sampleComment } from "#ui/test/sampleDiff.ts";
import { sampleReview } from "#ui/test/sampleReview.ts";
import { linesNamed, problemsIn } from "./problems.ts";

const files = [file("src/a.ts"), file("src/b/c.rs"), file("gone.ts", { kind: "deleted" })];
const places = (text: string) => linesNamed(text, files).map(({ path, line }) => `${path}:${line}`);

describe("lines that a check's output names", () => {
  it("are those of changed files, as compilers and test runners print them", () => {
    expect(places("error[E0308]: mismatched types\n  --> src/b/c.rs:12:5")).toEqual([
      "src/b/c.rs:12",
    ]);
    expect(places("\u001B[31mFAIL\u001B[0m ./src/a.ts:3:1 and src/a.ts:3:9")).toEqual([
      "src/a.ts:3",
    ]);
    expect(places("at run (/home/me/worktrees/7/src/a.ts:40:2)")).toEqual(["src/a.ts:40"]);
    expect(places("src/a.ts(7,2): error TS2322")).toEqual(["src/a.ts:7"]);
  });

  it("are of the file itself, and of no other that ends in its name", () => {
    const paths = (text: string) =>
      linesNamed(text, [file("a.rs"), file("src/a.rs")]).map(({ path }) => path);
    expect(paths("src/a.rs:3")).toEqual(["src/a.rs"]);
    expect(paths("/home/ada/7/src/a.rs:3")).toEqual(["src/a.rs"]);
    expect(paths("lib/a.rs:3")).toEqual([]);
  });

  it("are none of other files, of removed ones, or of text that only looks like a place", () => {
    expect(places("other/x.ts:3 gone.ts:2 http://host.io:80 12:30:01 asrc/a.ts:1")).toEqual([]);
  });
});

describe("problems", () => {
  it("are findings that stand and failing lines of the last review, in reading order", () => {
    const step: ReviewStep = {
      index: 0,
      command: "make check",
      exit_code: 1,
      signal: null,
      timed_out: false,
      finished: true,
      duration_ms: 1,
      stdout_tail: "",
      stderr_tail: "",
      cached: false,
      changed_files: [],
      log_id: "l1",
    };
    const failed = (attempt: number, tail: string) =>
      sampleReview({
        attempt_number: attempt,
        steps: [{ ...step, stderr_tail: tail }],
      });
    const comments = [
      sampleComment({ id: "x", source: "auditor", status: "sent", path: "src/b/c.rs", line: 5 }),
      sampleComment({ id: "y", source: "auditor", status: "resolved", path: "src/a.ts", line: 5 }),
      sampleComment({ id: "z", source: "person", status: "sent", path: "src/a.ts", line: 6 }),
    ];
    const reviews = [failed(2, "src/b/c.rs:2 src/a.ts:9"), failed(1, "src/a.ts:1")];
    const found = problemsIn(comments, reviews, files);
    expect(found.map(({ path, line, commentId }) => [path, line, commentId])).toEqual([
      ["src/a.ts", 9, null],
      ["src/b/c.rs", 2, null],
      ["src/b/c.rs", 5, "x"],
    ]);
  });
});
