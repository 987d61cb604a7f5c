import { expect, it } from "vitest";
import { ruleDraftOf, ruleOf, stateLabelsOf } from "./issueRule.ts";

it("a rule is typed as text, and what is not typed is left to the engine", () => {
  const rule = { labels: ["agent", "good first issue"], into: "todo", every_minutes: 30 };
  const draft = { labels: "agent, good first issue", into: "todo", minutes: "30" };
  expect(ruleDraftOf(rule)).toEqual(draft);
  expect(ruleOf(draft)).toEqual(rule);
  expect(ruleDraftOf({ labels: [] })).toEqual({ labels: "", into: null, minutes: "" });
  expect(ruleOf({ labels: " a,, b ,a", into: null, minutes: " " })).toEqual({
    labels: ["a", "b"],
    into: null,
    every_minutes: null,
  });
});

it("a label that was cleared is named with null, and no label at all is none", () => {
  expect(stateLabelsOf({ todo: " ready ", done: " " })).toEqual({ todo: "ready", done: null });
  expect(stateLabelsOf({ todo: "", done: " " })).toBeNull();
  expect(stateLabelsOf({})).toBeNull();
});
