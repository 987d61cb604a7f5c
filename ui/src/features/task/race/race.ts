/** What a race says in words: why an entry is out, who wins, which entry may be picked. Pure; the words are an argument. */
import type { TFunction } from "i18next";
import type { ElectionStep, Offer, Race, RaceEntry, Task } from "#ui/api/generated.ts";
import { duration } from "#ui/components/time.ts";
import { money } from "../numbers.ts";

/** Whether there is anything of a race to show for a task. */
export function isRaced(task: Pick<Task, "race" | "raced">): boolean {
  return task.race?.enabled === true || task.raced !== null;
}

const overStates: ReadonlySet<RaceEntry["status"]> = new Set([
  "finished",
  "failed",
  "timed_out",
  "cancelled",
]);

export const isOver = ({ status }: Pick<RaceEntry, "status">): boolean => overStates.has(status);

export const overCount = ({ entries }: Pick<Race, "entries">): number =>
  entries.filter(isOver).length;

/** Who is ahead: the winner, or the suggested winner while a person has not chosen. */
export const isWinner = (race: Race, entry: RaceEntry): boolean =>
  race.winner !== null && race.winner === entry.strategy;

/** Its work can be taken: it committed something since the race began. */
export function isTakeable(race: Race, entry: RaceEntry): boolean {
  return entry.commit !== null && entry.commit !== race.base_commit;
}

/** The action that picks a winner, while the engine offers it. */
export const pickOffer = (task: Pick<Task, "offers">): Offer | null =>
  task.offers.find(({ verb }) => verb === "crown") ?? null;

/** Whether its changes can no longer be read: the branch that kept them went when its time was up. */
export function isForgotten(race: Race, entry: RaceEntry): boolean {
  return (
    isOver(entry) &&
    race.finished_at !== null &&
    race.losers_until === null &&
    entry.branch === null &&
    !isWinner(race, entry)
  );
}

/** How long an entry may take: "30m", "1m 30s". */
export const limitOf = ({ timeout_sec: seconds }: Pick<Race, "timeout_sec">): string =>
  duration(seconds * 1_000).replace(/ 00?[smh]$/, "");

const listed = (names: readonly string[]): string =>
  new Intl.ListFormat(navigator.language, { type: "conjunction" }).format(names);

/** Things with the same key together, in the order in which keys first come. */
function grouped<Item>(items: readonly Item[], keyOf: (item: Item) => string): [string, Item[]][] {
  const groups = new Map<string, Item[]>();
  for (const item of items) groups.set(keyOf(item), [...(groups.get(keyOf(item)) ?? []), item]);
  return [...groups];
}

/** Why an entry's checks count as not passed. */
export function gateReason(
  entry: RaceEntry | undefined,
  value: string | null,
  t: TFunction,
): string {
  if (value === "failed") return t("race.out.failed");
  if (value === "timed_out") return t("race.out.checksTimedOut");
  if (entry?.status === "timed_out") return t("race.out.timedOut");
  if (entry?.status === "failed") return t("race.out.agentFailed");
  if (entry?.status === "finished" && entry.reason) return entry.reason;
  return t("race.out.notRun");
}

function gateWords(step: ElectionStep, race: Race, t: TFunction): string[] {
  const entryOf = (name: string) => race.entries.find(({ strategy }) => strategy === name);
  const reasons = grouped(step.dropped, ({ name, value }) => gateReason(entryOf(name), value, t));
  return reasons.map(([reason, dropped]) =>
    t("race.out.gate", {
      count: dropped.length,
      names: listed(dropped.map(({ name }) => name)),
      reason,
    }),
  );
}

/** The value by which the rule kept whom it kept; null where nobody knows it. */
function keptBy(step: ElectionStep, race: Race, of: (entry: RaceEntry) => number | null) {
  const kept = race.entries.find(({ strategy }) => step.kept.includes(strategy));
  return kept ? of(kept) : null;
}

function reviewerWords(step: ElectionStep, race: Race, t: TFunction): string[] {
  const best = keptBy(step, race, (entry) => entry.score);
  const name = listed(step.kept);
  return step.dropped.map((dropped) =>
    dropped.value === null
      ? t("race.out.noScore", { name: dropped.name })
      : t("race.out.score", { name: dropped.name, score: dropped.value, other: name, best }),
  );
}

function costWords(step: ElectionStep, race: Race, t: TFunction): string[] {
  const least = keptBy(step, race, (entry) => entry.cost_micro_usd);
  const other = listed(step.kept);
  return step.dropped.map(({ name, value }) =>
    value === null || least === null
      ? t("race.out.noCost", { name })
      : t("race.out.cost", { name, cost: money(Number(value)), other, least: money(least) }),
  );
}

/** Why a rule kept everybody: they are equal, or nothing is known of any of them. */
function nobodyOut(step: ElectionStep, race: Race) {
  const kept = race.entries.filter(({ strategy }) => step.kept.includes(strategy));
  if (step.rule === "gate" && kept.some(({ gate }) => gate !== "passed")) return "unchecked";
  if (step.rule === "reviewer" && kept.every(({ score }) => score === null)) return "noScores";
  if (step.rule === "cost" && kept.every(({ cost_micro_usd: cost }) => cost === null)) {
    return "noCosts";
  }
  return step.rule;
}

/** The entries that nothing but their names tells apart. */
export function alikeNames(race: Race): string {
  const step = race.trail.find(({ rule }) => rule === "name");
  const names = [...(step?.kept ?? []), ...(step?.dropped ?? []).map(({ name }) => name)];
  return listed(names.sort());
}

/** What a rule found, a sentence each. */
function stepWords(step: ElectionStep, race: Race, t: TFunction): string[] {
  if (step.dropped.length === 0) {
    return [t(`race.nobodyOut.${nobodyOut(step, race)}`, { count: step.kept.length })];
  }
  switch (step.rule) {
    case "gate":
      return gateWords(step, race, t);
    case "reviewer":
      return reviewerWords(step, race, t);
    case "cost":
      return costWords(step, race, t);
    case "name":
      if (race.winner === null) return [t("race.out.nameOnly", { names: alikeNames(race) })];
      return [
        t("race.out.name", {
          count: step.dropped.length,
          names: listed(step.dropped.map(({ name }) => name)),
          other: listed(step.kept),
        }),
      ];
    case "person":
    case "none":
      return [];
  }
}

export interface TrailLine {
  readonly rule: ElectionStep["rule"];
  readonly sentences: readonly string[];
}

/** How the election went, a line a rule. */
export function trailOf(race: Race, t: TFunction): readonly TrailLine[] {
  return race.trail.map((step) => ({ rule: step.rule, sentences: stepWords(step, race, t) }));
}

/** Where a race stands, in a sentence. */
export function standOf(race: Race, t: TFunction): string {
  const name = race.winner ?? "";
  switch (race.status) {
    case "running":
      return t("race.stand.running", { over: overCount(race), count: race.entries.length });
    case "awaiting_crown":
      return race.winner === null
        ? t("race.stand.awaiting_choice", { names: alikeNames(race) })
        : t("race.stand.awaiting_crown", { name });
    case "decided":
      return t(race.error === null ? "race.stand.decided" : "race.stand.notTaken", { name });
    case "promoted":
      return t(race.crowned_by === null ? "race.stand.promoted" : "race.stand.picked", { name });
    case "no_winner":
      return t("race.stand.no_winner", { count: race.entries.length });
    case "cancelled":
      return t("race.stand.cancelled");
  }
}
