import { expect, it } from "vitest";
import type { TaskRace } from "#ui/api/generated.ts";
import { sampleAgent } from "#ui/test/sample.ts";
import {
  draftOf,
  isOwn,
  nextRow,
  projectsRace,
  raceOf,
  rowsOf,
  strategiesOf,
} from "./strategies.ts";

const agents = [
  sampleAgent({ id: "a1", name: "Claude Code" }),
  sampleAgent({ id: "a2", name: "Codex" }),
  sampleAgent({ id: "a3", name: "Paused", paused: true }),
];

it("leaves out what is left empty", () => {
  const row = { name: " a ", agent: "a1", model: " ", effort: "", suffix: "Be brief. " };
  expect(strategiesOf([row])).toEqual([{ name: "a", agent_id: "a1", prompt_suffix: "Be brief." }]);
});

it("comes back as it was", () => {
  const race: TaskRace = {
    enabled: true,
    strategies: [
      { name: "a", agent_id: "a1", model: "opus", effort: "high", prompt_suffix: "Be brief." },
      { name: "b", agent_id: "a2" },
    ],
    maxParallel: 3,
    timeoutSec: 60,
    humanCrown: false,
  };
  expect(raceOf(draftOf(race))).toEqual(race);
  expect(raceOf(projectsRace)).toEqual({ enabled: true });
});

it("tells a race of the task's own from the project's", () => {
  expect(isOwn(null)).toBe(false);
  expect(isOwn({ enabled: true })).toBe(false);
  expect(isOwn({ enabled: true, humanCrown: false })).toBe(true);
});

it("adds who races least often, under a name that is free and that a branch may have", () => {
  const first = nextRow([], agents);
  expect(first).toMatchObject({ name: "claude-code", agent: "a1" });
  const second = nextRow([first], agents);
  expect(second).toMatchObject({ name: "codex", agent: "a2" });
  const third = nextRow([first, second], agents);
  expect(third).toMatchObject({ name: "claude-code-2", agent: "a1" });
  expect(nextRow(rowsOf([]), [])).toMatchObject({ name: "strategy", agent: "" });
});
