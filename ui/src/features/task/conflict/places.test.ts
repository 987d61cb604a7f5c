import { describe, expect, it } from "vitest";
import { sampleWorkflow } from "#ui/test/sample.ts";
import { someTask } from "../testing/fixtures.ts";
import { conflictLines, linesOf, placeOf, resolverOf } from "./places.ts";

const place = [
  "before",
  "<<<<<<< main",
  "theirs was here",
  "||||||| 9f4c1d27",
  "base",
  "=======",
  "mine",
  "more",
  ">>>>>>> task",
  "after",
].join("\n");

describe("a place in conflict", () => {
  it("comes apart into the sides and what is around them", () => {
    expect(placeOf(place)).toEqual([
      { side: "context", lines: ["before"] },
      { side: "ours", lines: ["theirs was here"] },
      { side: "base", lines: ["base"] },
      { side: "theirs", lines: ["mine", "more"] },
      { side: "context", lines: ["after"] },
    ]);
  });

  it("keeps a side that has nothing, and lines that only look like markers", () => {
    expect(placeOf("<<<<<<< main\n=======\n=== not one\n>>>>>>> task")).toEqual([
      { side: "ours", lines: [] },
      { side: "theirs", lines: ["=== not one"] },
    ]);
    expect(placeOf("a\n=======\nb")).toEqual([{ side: "context", lines: ["a", "=======", "b"] }]);
  });

  it("ends where the next one begins", () => {
    expect(placeOf(`${place}\n<<<<<<< main\ncut`).at(-1)).toEqual({
      side: "context",
      lines: ["after"],
    });
  });

  it("is found again in the whole file, one after the other", () => {
    const twice = linesOf("x\nmine\nmore\ny\nmine\nmore\n");
    expect(twice).toHaveLength(6);
    const one = placeOf(place);
    expect([...conflictLines(twice, [one], "theirs")]).toEqual([1, 2]);
    expect([...conflictLines(twice, [one, one], "theirs")]).toEqual([1, 2, 4, 5]);
    expect([...conflictLines(twice, [one], "base")]).toEqual([]);
    expect(linesOf("")).toEqual([]);
  });
});

describe("who resolves it", () => {
  const state = (name: string) => sampleWorkflow.states.find((each) => each.name === name);
  const live = { execution_id: "e", agent_id: "a", role: "coder", activity: "", started_at: "" };

  it("is the person, the agent, the checks, or nobody any more", () => {
    const task = someTask();
    const stuck = someTask({
      error_annotation: {
        type: "merge_conflict",
        from_state: "merging",
        message: "",
        details: null,
        execution_id: null,
        evidence: null,
        at: "",
      },
    });
    expect(resolverOf(stuck, state("merge_failed"))).toBe("person");
    expect(resolverOf(task, state("in_progress"))).toBe("agent");
    expect(resolverOf({ ...task, live }, state("merge_failed"))).toBe("agent");
    expect(resolverOf(task, state("review"))).toBe("checks");
    expect(resolverOf(stuck, state("done"))).toBe("nobody");
  });
});
