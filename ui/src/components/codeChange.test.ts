import { expect, it } from "vitest";
import { changedPart } from "./codeChange.ts";

it.each([
  ["", "abc"],
  ["abc", ""],
  ["abc", "abXc"],
  ["aaa", "aaaa"],
  ["one two", "one 2 two"],
  ["same", "same"],
])("turns %j into %j", (before, after) => {
  const change = changedPart(before, after);
  const made = change
    ? before.slice(0, change.from) + change.insert + before.slice(change.to)
    : before;
  expect(made).toBe(after);
});
