import { describe, expect, it } from "vitest";
import { sampleIssue } from "#ui/test/sampleIssues.ts";
import { everyOpen, importInput, isSame, listInput, withoutRepeats } from "./search.ts";

const search = { text: " parser ", labels: "bug, , good first issue ,", state: "all" as const };

describe("a search", () => {
  it("names only what was typed, labels without the space around them", () => {
    expect(listInput("p1", search)).toEqual({
      project_id: "p1",
      q: "parser",
      labels: "bug,good first issue",
      state: "all",
    });
    expect(listInput("p1", everyOpen)).toEqual({ project_id: "p1", state: "open" });
  });

  it("is the same whatever space is in it", () => {
    expect(isSame(search, { ...search, text: "parser", labels: "bug,good first issue" })).toBe(
      true,
    );
    expect(isSame(search, { ...search, labels: "bug" })).toBe(false);
  });
});

describe("an import", () => {
  it("names the picked issues and not the search, which the engine refuses together", () => {
    expect(importInput("p1", search, new Set(["7", "12"]), "todo")).toEqual({
      project_id: "p1",
      numbers: [7, 12],
      into: "todo",
    });
  });

  it("names the search when nothing is picked", () => {
    expect(importInput("p1", search, new Set(), null)).toEqual({
      project_id: "p1",
      q: "parser",
      labels: ["bug", "good first issue"],
      state: "all",
    });
  });
});

it("an issue on two pages is listed once", () => {
  const item = (number: number) => ({
    issue: sampleIssue(number),
    task_id: null,
    task_number: null,
  });
  const refs = withoutRepeats([item(3), item(2), item(2), item(1)]).map(({ issue }) => issue.ref);
  expect(refs).toEqual(["3", "2", "1"]);
});
