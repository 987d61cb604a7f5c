import { describe, expect, it } from "vitest";
import type { ApprovalOption } from "#ui/api/generated.ts";
import { sampleApproval } from "#ui/test/sampleRuns.ts";
import { approvalAt, askedOf, keyOf, optionFor } from "./asked.ts";

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

it("finds the stored question of a log's entry by run, title and time", () => {
  const at = Date.parse("2030-01-01T00:00:00Z");
  const first = sampleApproval({ id: "q1", title: "npm i", asked_at: "2030-01-01T00:00:01Z" });
  const second = sampleApproval({ id: "q2", title: "npm i", asked_at: "2030-01-01T00:00:40Z" });
  const all = [first, second];
  const run = first.execution_id;
  expect(approvalAt(all, run, "npm i", at)?.id).toBe("q1");
  expect(approvalAt(all, run, "npm i", at + 39_000)?.id).toBe("q2");
  expect(approvalAt(all, run, "npm ci", at)).toBeNull();
  expect(approvalAt(all, "other", "npm i", at)).toBeNull();
  expect(approvalAt(all, run, "npm i", at + 900_000)).toBeNull();
});
