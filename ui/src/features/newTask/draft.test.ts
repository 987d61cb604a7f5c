import { describe, expect, it } from "vitest";
import { sampleTask } from "#ui/test/sample.ts";
import { toInput, type Draft } from "./draft.ts";

const draft: Draft = {
  title: " Say hello ",
  description: "",
  agent: "a1",
  reviewer: "nobody",
  priority: "none",
  checks: null,
  dependsOn: [],
  part: null,
  machines: null,
  race: null,
};
const roles = { work: "coder", review: "reviewer" };
const parent = sampleTask({ id: "t9" });

describe("a draft becomes an input", () => {
  it("with nothing but what was said", () => {
    expect(toInput("p1", draft, roles)).toEqual({
      project_id: "p1",
      title: "Say hello",
      roles: { coder: "a1" },
    });
  });

  it("gives the review to whoever is to judge: an agent, the person, or nobody", () => {
    const judged = (reviewer: string) => toInput("p1", { ...draft, reviewer }, roles).roles;
    expect(judged("a2")).toEqual({ coder: "a1", reviewer: "a2" });
    expect(judged("user")).toEqual({ coder: "a1", reviewer: "user" });
    expect(judged("nobody")).toEqual({ coder: "a1" });
    expect(toInput("p1", { ...draft, reviewer: "a2" }, { ...roles, review: null }).roles).toEqual({
      coder: "a1",
    });
  });

  it("as a part with a worktree of its own, after others", () => {
    const part = { parent, mode: "independent" as const };
    expect(toInput("p1", { ...draft, part, dependsOn: ["t2"] }, roles)).toEqual({
      project_id: "p1",
      title: "Say hello",
      roles: { coder: "a1" },
      depends_on: ["t2"],
      parent_id: "t9",
      execution_mode: "independent",
    });
  });

  it("as a part that runs in turn: its parent's agent does the work", () => {
    const part = { parent, mode: "ordered_turn" as const };
    expect(toInput("p1", { ...draft, part }, roles)).toEqual({
      project_id: "p1",
      title: "Say hello",
      parent_id: "t9",
      execution_mode: "ordered_turn",
    });
  });
});
