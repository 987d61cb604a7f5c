import { describe, expect, it } from "vitest";
import { samplePullRequest, sampleTaskPullRequest } from "#ui/test/sampleReview.ts";
import { countOf, stillThere, toNews, toggled, whatIsNew } from "./pullRequest.ts";

describe("what is new of a pull request", () => {
  it("is what the agent was not told, and the checks that failed", () => {
    const fresh = whatIsNew(sampleTaskPullRequest({ told: ["c1"] }));
    expect([...fresh.comments]).toEqual(["c2"]);
    expect([...fresh.checks]).toEqual(["e2e"]);
    expect(countOf(fresh)).toBe(2);
  });

  it("is nothing before there is one", () => {
    expect(countOf(whatIsNew(sampleTaskPullRequest({ pull_request: null })))).toBe(0);
  });
});

describe("what is chosen of it", () => {
  it("goes when the host no longer tells of it, or the check passed meanwhile", () => {
    const chosen = { comments: new Set(["c1", "gone"]), checks: new Set(["e2e"]) };
    const pull = samplePullRequest({
      checks: [{ name: "e2e", status: "passed", url: null, summary: null }],
    });
    const left = stillThere(chosen, pull);
    expect([...left.comments]).toEqual(["c1"]);
    expect([...left.checks]).toEqual([]);
  });

  it("is sent with what is written, when something is", () => {
    const chosen = { comments: new Set(["c1"]), checks: new Set<string>() };
    expect(toNews("t1", chosen, "  ")).toEqual({ task_id: "t1", comments: ["c1"], checks: [] });
    expect(toNews("t1", chosen, " Mind the name. ")).toEqual({
      task_id: "t1",
      comments: ["c1"],
      checks: [],
      message: "Mind the name.",
    });
  });

  it("is changed one by one", () => {
    expect([...toggled(new Set(["a"]), "b", true)]).toEqual(["a", "b"]);
    expect([...toggled(new Set(["a", "b"]), "a", false)]).toEqual(["b"]);
  });
});
