import { describe, expect, it } from "vitest";
import type { ApprovalOption } from "#ui/api/generated.ts";
import { sampleApproval } from "#ui/test/sampleRuns.ts";
import { approvalOf, askedOf, keyOf, optionFor } from "./asked.ts";

const option = (id: string, choice: ApprovalOption["choice"]): ApprovalOption => ({
  id,
  label: id,
  choice,
});
const options = [
  option("once", "allow_once"),
  option("always", "allow_always"),
  option("no", "reject_once"),
  option("stop", "stop"),
];

describe("keys", () => {
  it.each([
    ["y", "once"],
    ["n", "no"],
    ["2", "always"],
    ["4", "stop"],
    ["9", undefined],
    ["x", undefined],
  ])("%s chooses %s", (key, id) => {
    expect(optionFor(key, options)?.id).toBe(id);
  });

  it("no is the gentlest that is offered", () => {
    expect(optionFor("n", [option("stop", "stop"), option("never", "reject_always")])?.id).toBe(
      "never",
    );
    expect(optionFor("y", [option("a", "answer")])).toBeNull();
  });

  it("stand on their buttons", () => {
    expect(options.map((each) => keyOf(each, options))).toEqual(["y", "2", "n", "4"]);
  });
});

it("reads a detail, and survives what is none", () => {
  expect(askedOf({ command: "ls", paths: ["a", 3], reason: "" })).toEqual({
    reason: null,
    command: "ls",
    cwd: null,
    paths: ["a"],
    diff: null,
    input: null,
  });
  expect(askedOf(null).paths).toEqual([]);
});

it("finds the stored question by its name within its run", () => {
  const first = sampleApproval({ id: "q1", ask: "ask-1", title: "npm i" });
  const second = sampleApproval({ id: "q2", ask: "ask-2", title: "npm i" });
  const all = [first, second];
  expect(approvalOf(all, first.execution_id, "ask-2")?.id).toBe("q2");
  expect(approvalOf(all, "other", "ask-2")).toBeNull();
  expect(approvalOf(all, first.execution_id, "ask-3")).toBeNull();
});
