import { expect, it } from "vitest";
import type { UnsentReport } from "#ui/api/generated.ts";
import { problemsOf } from "./unsent.ts";

const report = (change: Partial<UnsentReport>): UnsentReport => ({
  kind: "started",
  problem: "GitHub refused the token (403).",
  remedy: "Store another token.",
  retry_at: null,
  ...change,
});

it("reports with the same problem are told together, with the first of their next tries", () => {
  const later = report({ retry_at: "2026-01-01T10:00:00.5Z" });
  const sooner = report({ kind: "label", retry_at: "2026-01-01T10:00:00Z" });
  const other = report({ kind: "close", problem: "GitHub cannot be reached.", remedy: null });
  const { problems, queued } = problemsOf([later, sooner, later, other]);
  expect(problems).toEqual([
    {
      kinds: ["started", "label"],
      text: "GitHub refused the token (403).",
      remedy: "Store another token.",
      retryAt: "2026-01-01T10:00:00Z",
    },
    { kinds: ["close"], text: "GitHub cannot be reached.", remedy: null, retryAt: null },
  ]);
  expect(queued).toEqual([]);
});

it("reports without a problem are queued, each kind once", () => {
  const waits = report({ problem: null, remedy: null });
  expect(problemsOf([waits, { ...waits, kind: "done" }, waits])).toEqual({
    problems: [],
    queued: ["started", "done"],
  });
});
