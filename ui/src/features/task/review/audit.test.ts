import { describe, expect, it } from "vitest";
import { sampleAudit, unusableAudit } from "#ui/test/sampleReview.ts";
import { someTask } from "../testing/fixtures.ts";
import { inOrder, isAudited, outcomeOfAudit, placeText, scoreTone } from "./audit.ts";
import { standOf } from "./stand.ts";

const live = (role: string) => ({
  execution_id: "e1",
  agent_id: "a1",
  role,
  activity: "",
  started_at: "2030-01-01T12:00:00Z",
});

describe("an audit", () => {
  it("rejects, passes, or says nothing about the work", () => {
    expect(outcomeOfAudit(sampleAudit({ verdict: "fail" }))).toBe("rejected");
    expect(outcomeOfAudit(sampleAudit({ verdict: "pass" }))).toBe("passed");
    expect(outcomeOfAudit(unusableAudit())).toBe("unusable");
  });

  it("tells the weightiest findings first, then by file and line", () => {
    const finding = (
      severity: "error" | "warning" | "info",
      file: string,
      line: number | null,
    ) => ({
      severity,
      file,
      line,
      text: "",
    });
    const order = inOrder([
      finding("info", "a.rs", 1),
      finding("error", "b.rs", 9),
      finding("error", "a.rs", 7),
      finding("error", "b.rs", null),
      finding("warning", "a.rs", 2),
    ]);
    expect(order.map(placeText)).toEqual(["a.rs:7", "b.rs", "b.rs:9", "a.rs:2", "a.rs:1"]);
  });

  it("has a score with a tone", () => {
    expect([0, 49, 50, 74, 75, 100].map(scoreTone)).toEqual([
      "danger",
      "danger",
      "warning",
      "warning",
      "success",
      "success",
    ]);
  });

  it("is under way while a reviewer runs, not while a coder does", () => {
    const running = { status: "running" as const };
    expect(isAudited(someTask({ live: live("reviewer") }), running)).toBe(true);
    expect(isAudited(someTask({ live: live("coder") }), running)).toBe(false);
    expect(isAudited(someTask({ live: live("reviewer") }), { status: "failed" })).toBe(false);
  });
});

describe("where a task stands", () => {
  it("is told by its review, and by who runs", () => {
    const review = (status: "running" | "awaiting_human" | "failed" | "passed") => ({
      attempt_number: 1,
      status,
      verdict: null,
      reviewed_commit: null,
    });
    expect(standOf({ live: live("reviewer"), review: review("running") })).toBe("auditing");
    expect(standOf({ live: null, review: review("running") })).toBe("checks");
    expect(standOf({ live: null, review: review("awaiting_human") })).toBe("awaits");
    expect(standOf({ live: null, review: review("failed") })).toBe("rejected");
    expect(standOf({ live: null, review: review("passed") })).toBeNull();
    expect(standOf({ live: null, review: null })).toBeNull();
  });
});
