import { describe, expect, it } from "vitest";
import type { Race, RaceBadge } from "#ui/api/generated.ts";
import { raceWords } from "#ui/domain/race/words.ts";
import { t } from "#ui/i18n/index.ts";
import { badgeOf, sampleEntry, sampleRace, sampleRaces } from "#ui/test/sampleRaces.ts";
import { isForgotten, isRaced, isTakeable, limitOf, standOf, trailOf } from "./race.ts";

const said = (race: Race) => trailOf(race, t).map(({ rule, sentences }) => [rule, ...sentences]);

describe("how a race was decided", () => {
  it("is a line a rule: who is out, and by what", () => {
    expect(said(sampleRace())).toEqual([
      ["gate", "broken is out: checks failed."],
      ["cost", "dear is out: cost $0.03, cheap cost $0.02."],
    ]);
  });

  it("names those together that are out for the same reason, and says what is known of the others", () => {
    const race = sampleRace({
      entries: [
        sampleEntry("a", { gate: "failed" }),
        sampleEntry("b", { gate: "failed" }),
        sampleEntry("c", { gate: "not_run", status: "timed_out" }),
        sampleEntry("d", { gate: "not_run", reason: "it changed nothing" }),
        sampleEntry("e", { gate: "timed_out" }),
        sampleEntry("f", { gate: "not_run", status: "failed" }),
      ],
      elected: null,
      decidedBy: "none",
      trail: [
        {
          rule: "gate",
          kept: [],
          dropped: ["a", "b", "c", "d", "e", "f"].map((name) => ({
            name,
            value: name < "c" ? "failed" : name === "e" ? "timed_out" : "not_run",
          })),
        },
      ],
    });
    expect(said(race)).toEqual([
      [
        "gate",
        "a and b are out: checks failed.",
        "c is out: time limit reached.",
        "d is out: it changed nothing.",
        "e is out: checks timed out.",
        "f is out: the agent failed before the checks.",
      ],
    ]);
  });

  it("tells scores, ties, what nobody knows, and names", () => {
    const race = sampleRace({
      entries: [
        sampleEntry("a", { score: 90 }),
        sampleEntry("b", { score: 90 }),
        sampleEntry("c", { score: 60 }),
        sampleEntry("d"),
        sampleEntry("e", { score: 90, cost_micro_usd: null }),
      ],
      elected: "a",
      decidedBy: "name",
      trail: [
        { rule: "gate", kept: ["a", "b", "c", "d", "e"], dropped: [] },
        {
          rule: "reviewer",
          kept: ["a", "b", "e"],
          dropped: [
            { name: "c", value: "60" },
            { name: "d", value: null },
          ],
        },
        { rule: "cost", kept: ["a", "b"], dropped: [{ name: "e", value: null }] },
        { rule: "name", kept: ["a"], dropped: [{ name: "b", value: "b" }] },
      ],
    });
    expect(said(race)).toEqual([
      ["gate", "All entries passed."],
      ["reviewer", "c is out: score 60, below a, b, and e with 90.", "d is out: no score."],
      ["cost", "e is out: unknown cost."],
      ["name", "b is out: a comes first by name."],
    ]);
  });

  it("says what is not known of entries, never that they are equal", () => {
    const unknown = { gate: "not_run", checks: 0, cost_micro_usd: null, score: null } as const;
    const race = sampleRace({
      status: "awaiting_crown",
      winner: null,
      reviewer_enabled: true,
      entries: [sampleEntry("a", unknown), sampleEntry("b", unknown)],
      elected: "a",
      decidedBy: "name",
      trail: [
        { rule: "gate", kept: ["a", "b"], dropped: [] },
        { rule: "reviewer", kept: ["a", "b"], dropped: [] },
        { rule: "cost", kept: ["a", "b"], dropped: [] },
        { rule: "name", kept: ["a"], dropped: [{ name: "b", value: "b" }] },
      ],
    });
    expect(said(race)).toEqual([
      ["gate", "There are no checks to compare."],
      ["reviewer", "No entry is out: none has a score."],
      ["cost", "No entry is out: no cost is known."],
      ["name", "a and b differ only by name."],
    ]);
    expect(standOf(race, t)).toBe(
      "a and b are tied on checks, score and cost. Choose the winner to continue",
    );
    expect(raceWords(badgeOf(race), t)).toBe("Race: choose the winner");
  });

  it("is nothing while nobody was elected", () => {
    expect(said(sampleRace({ trail: [] }))).toEqual([]);
  });
});

it.each<[Partial<Race>, string]>([
  [{ status: "running", winner: null }, "3 of 3 entries finished"],
  [{ status: "awaiting_crown" }, "Suggested winner: cheap. Choose the winner to continue"],
  [{ status: "decided" }, "cheap won. Applying its work"],
  [{ status: "decided", error: "moved" }, "cheap won, but Forge could not apply its work"],
  [{}, "cheap won"],
  [{ crowned_by: "user:board", winner: "dear" }, "dear was picked as winner"],
  [{ status: "no_winner", winner: null }, "None of 3 entries passed"],
  [{ status: "cancelled", winner: null }, "Race cancelled"],
])("says where a race stands: %o", (change, words) => {
  expect(standOf(sampleRace(change), t)).toBe(words);
});

it.each<[Partial<RaceBadge>, string]>([
  [{ status: "running", over: 1 }, "Race: 1 of 3 entries finished"],
  [{ status: "awaiting_crown" }, "Race: cheap suggested"],
  [{}, "Race: cheap won"],
  [{ status: "no_winner", winner: null }, "Race: none of 3 entries passed"],
  [{ status: "cancelled", winner: null }, "Race: cancelled"],
])("says on a card how far a race is: %o", (change, words) => {
  expect(raceWords({ ...badgeOf(sampleRace()), ...change }, t)).toBe(words);
});

it("is shown where a task is marked for a race, or was raced", () => {
  expect(isRaced({ race: null, raced: null })).toBe(false);
  expect(isRaced({ race: { enabled: false }, raced: null })).toBe(false);
  expect(isRaced({ race: { enabled: true }, raced: null })).toBe(true);
  expect(isRaced({ race: null, raced: badgeOf(sampleRace()) })).toBe(true);
});

it("takes the work only of who committed something", () => {
  const race = sampleRaces.find(({ status }) => status === "no_winner");
  expect(race?.entries.map((entry) => isTakeable(race, entry))).toEqual([true, false]);
});

it("knows when a loser's work is gone", () => {
  const gone = sampleRace({ losers_until: null });
  const [broken, cheap] = gone.entries;
  if (!broken || !cheap) throw new Error("no entries");
  expect(isForgotten(gone, { ...broken, branch: null })).toBe(true);
  expect(isForgotten(gone, broken)).toBe(false);
  expect(isForgotten(gone, cheap)).toBe(false);
  expect(isForgotten(sampleRace(), { ...broken, branch: null })).toBe(false);
});

it.each([
  [1_800, "30m"],
  [90, "1m 30s"],
  [3_600, "1h"],
  [20, "20s"],
])("tells a limit of %d seconds briefly", (seconds, words) => {
  expect(limitOf({ timeout_sec: seconds })).toBe(words);
});
