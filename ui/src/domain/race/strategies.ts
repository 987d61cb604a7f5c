/** Strategies as a person types them, and as the contract has them. Pure. */
import type { Agent, Strategy, TaskRace } from "#ui/api/generated.ts";

export interface StrategyRow {
  readonly name: string;
  readonly agent: string;
  readonly model: string;
  readonly effort: string;
  readonly suffix: string;
}

export function rowsOf(strategies: readonly Strategy[]): readonly StrategyRow[] {
  return strategies.map((strategy) => ({
    name: strategy.name,
    agent: strategy.agent_id,
    model: strategy.model ?? "",
    effort: strategy.effort ?? "",
    suffix: strategy.prompt_suffix ?? "",
  }));
}

/** What is left empty is the agent's own. */
export function strategiesOf(rows: readonly StrategyRow[]): Strategy[] {
  return rows.map(({ name, agent, model, effort, suffix }) => ({
    name: name.trim(),
    agent_id: agent,
    ...(model.trim() ? { model: model.trim() } : {}),
    ...(effort.trim() ? { effort: effort.trim() } : {}),
    ...(suffix.trim() ? { prompt_suffix: suffix.trim() } : {}),
  }));
}

/** What a branch may be called after it; the engine has the last word. */
function plainName(text: string): string {
  const plain = text
    .toLowerCase()
    .replaceAll(/[^a-z0-9._-]+/g, "-")
    .replaceAll(/^[.-]+|[.-]+$/g, "")
    .slice(0, 60);
  return plain === "" ? "strategy" : plain;
}

/** A further strategy: the agent that races least often so far, under a name that is free. */
export function nextRow(rows: readonly StrategyRow[], agents: readonly Agent[]): StrategyRow {
  const uses = (id: string) => rows.filter(({ agent }) => agent === id).length;
  const able = agents.filter(({ paused }) => !paused);
  const agent = [...(able.length > 0 ? able : agents)].sort(
    (one, other) => uses(one.id) - uses(other.id),
  )[0];
  const base = plainName(agent?.name ?? "");
  const taken = new Set(rows.map(({ name }) => name));
  let name = base;
  for (let number = 2; taken.has(name); number += 1) name = `${base}-${number}`;
  return { name, agent: agent?.id ?? "", model: "", effort: "", suffix: "" };
}

/** A task's own race as it is typed: null is as the project says. */
export interface RaceDraft {
  readonly strategies: readonly StrategyRow[] | null;
  readonly maxParallel: number | null;
  readonly timeoutSec: number | null;
  readonly humanCrown: boolean | null;
}

export const projectsRace: RaceDraft = {
  strategies: null,
  maxParallel: null,
  timeoutSec: null,
  humanCrown: null,
};

export function draftOf(race: TaskRace | null): RaceDraft {
  return {
    strategies: race?.strategies ? rowsOf(race.strategies) : null,
    maxParallel: race?.maxParallel ?? null,
    timeoutSec: race?.timeoutSec ?? null,
    humanCrown: race?.humanCrown ?? null,
  };
}

export function raceOf(draft: RaceDraft): TaskRace {
  const { strategies, maxParallel, timeoutSec, humanCrown } = draft;
  return {
    enabled: true,
    ...(strategies === null ? {} : { strategies: strategiesOf(strategies) }),
    ...(maxParallel === null ? {} : { maxParallel }),
    ...(timeoutSec === null ? {} : { timeoutSec }),
    ...(humanCrown === null ? {} : { humanCrown }),
  };
}

/** Whether anything is said that the project does not say. */
export const isOwn = (race: TaskRace | null): boolean =>
  race !== null && Object.values(draftOf(race)).some((value) => value !== null);
