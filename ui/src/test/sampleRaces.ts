/**
 * Races in every state, and the tasks that their entries are worked on as. The recording has one race, which is
 * decided: the others are that one with another end.
 */
import type { Race, RaceBadge, RaceEntry, Task } from "#ui/api/generated.ts";
import { cast, first, recorded } from "./recorded.ts";
import { sampleTask, sampleUsage, sampleWorkspace } from "./sample.ts";
import { at } from "./sampleTasks.ts";

const base = "9f4c1d27ab5e4e07a2f1c3b6d8e9f0a1b2c3d4e5";
const commit = (number: number) => `${number}a1b2c3d4e5f60718293a4b5c6d7e8f901234567`.slice(0, 40);

const race = first(recorded("task_races", { task_id: cast.tasks.raced }));
const entry = first({ items: race.entries });

export function sampleEntry(
  name: string,
  change: Partial<Omit<RaceEntry, "strategy">> = {},
): RaceEntry {
  return {
    ...entry,
    strategy: name,
    agent_id: "a2",
    task_id: `t1-${name}`,
    cost_micro_usd: 20_000,
    duration_ms: 184_000,
    diff_stat: { files: 2, added: 34, removed: 8 },
    commit: commit(name.length),
    branch: null,
    started_at: at(20),
    finished_at: at(17),
    ...change,
  };
}

export function sampleRace(change: Partial<Race> = {}): Race {
  return {
    ...race,
    id: `race-${change.task_id ?? "t1"}-${change.number ?? 1}`,
    task_id: "t1",
    base_commit: base,
    max_parallel: 2,
    entries: [
      sampleEntry("broken", {
        gate: "failed",
        cost_micro_usd: 11_000,
        reason: "`cargo test` exits with 101",
        diff_stat: { files: 1, added: 9, removed: 0 },
        branch: "forge/t1-race-1-broken",
      }),
      sampleEntry("cheap", { model: "haiku" }),
      sampleEntry("dear", {
        model: "opus",
        effort: "high",
        prompt_suffix: "Write the tests first.",
        cost_micro_usd: 30_000,
        duration_ms: 421_000,
        diff_stat: { files: 4, added: 120, removed: 31 },
        branch: "forge/t1-race-1-dear",
      }),
    ],
    elected: "cheap",
    decidedBy: "cost",
    trail: [
      { rule: "gate", kept: ["cheap", "dear"], dropped: [{ name: "broken", value: "failed" }] },
      { rule: "cost", kept: ["cheap"], dropped: [{ name: "dear", value: "30000" }] },
    ],
    winner: "cheap",
    started_at: at(24),
    finished_at: at(9),
    losers_until: at(-10_080),
    ...change,
  };
}

export const badgeOf = ({ number, status, entries, winner }: Race): RaceBadge => ({
  number,
  status,
  entries: entries.length,
  over: entries.filter((each) => each.status !== "queued" && each.status !== "running").length,
  winner,
});

const own = (task: string, raced: RaceEntry): RaceEntry => ({
  ...raced,
  task_id: `${task}-${raced.strategy}`,
});

const raceOf = (task: string, change: Partial<Race>): Race => {
  const made = sampleRace({ ...change, task_id: task });
  return { ...made, entries: made.entries.map((each) => own(task, each)) };
};

const unbegun: Partial<RaceEntry> = {
  gate: "not_run",
  cost_micro_usd: null,
  duration_ms: null,
  diff_stat: null,
  commit: null,
  finished_at: null,
};

const running = raceOf("t1", {
  status: "running",
  reviewer_enabled: true,
  max_parallel: 3,
  elected: null,
  decidedBy: null,
  trail: [],
  winner: null,
  finished_at: null,
  losers_until: null,
  entries: [
    sampleEntry("careful", {
      ...unbegun,
      status: "running",
      model: "opus",
      effort: "high",
      prompt_suffix: "Write the tests first, and change as little as possible besides.",
      cost_micro_usd: 184_000,
      diff_stat: { files: 3, added: 88, removed: 12 },
      started_at: at(7),
    }),
    sampleEntry("codex-local", {
      ...unbegun,
      status: "running",
      agent_id: "a1",
      started_at: at(4),
    }),
    sampleEntry("night-shift", {
      ...unbegun,
      status: "queued",
      agent_id: "a3",
      started_at: null,
    }),
    sampleEntry("quick", {
      model: "haiku",
      status: "failed",
      gate: "not_run",
      reason: "The agent ended with code 1 after two restarts.",
      cost_micro_usd: 4_200,
      diff_stat: null,
      commit: null,
    }),
    sampleEntry("slow", {
      model: "sonnet",
      status: "timed_out",
      gate: "not_run",
      reason: "its 1800 seconds were up",
      cost_micro_usd: null,
      duration_ms: 1_800_000,
    }),
    sampleEntry("steady", {
      model: "sonnet",
      effort: "low",
      score: 82,
      cost_micro_usd: 61_000,
    }),
  ],
});

const awaiting = raceOf("t2", {
  status: "awaiting_crown",
  reviewer_enabled: true,
  human_crown: true,
  finished_at: null,
  losers_until: null,
  winner: "broad",
  entries: [
    sampleEntry("broad", { score: 90, cost_micro_usd: 45_000 }),
    sampleEntry("narrow", {
      score: 60,
      cost_micro_usd: 21_000,
      agent_id: "a1",
      diff_stat: { files: 1, added: 12, removed: 3 },
    }),
  ],
  elected: "broad",
  decidedBy: "reviewer",
  trail: [
    { rule: "gate", kept: ["broad", "narrow"], dropped: [] },
    { rule: "reviewer", kept: ["broad"], dropped: [{ name: "narrow", value: "60" }] },
  ],
});

const noWinner = raceOf("t3", {
  number: 2,
  status: "no_winner",
  winner: null,
  entries: [
    sampleEntry("a", { gate: "failed", reason: "`npm test` exits with 1" }),
    sampleEntry("b", {
      gate: "not_run",
      reason: "it changed nothing",
      diff_stat: { files: 0, added: 0, removed: 0 },
      commit: base,
      agent_id: "a1",
    }),
  ],
  elected: null,
  decidedBy: "none",
  trail: [
    {
      rule: "gate",
      kept: [],
      dropped: [
        { name: "a", value: "failed" },
        { name: "b", value: "not_run" },
      ],
    },
  ],
});

const earlier = raceOf("t3", {
  status: "cancelled",
  winner: null,
  elected: null,
  decidedBy: null,
  trail: [],
  losers_until: null,
  entries: [sampleEntry("a", { ...unbegun, status: "cancelled" })],
});

export const sampleRaces: readonly Race[] = [
  running,
  awaiting,
  earlier,
  noWinner,
  raceOf("t4", {}),
];

const offer = (verb: Task["offers"][number]["verb"], label: string, fields: string[] = []) => ({
  verb,
  label,
  fields,
  why: "What it is good for here.",
});

const lastOf = (task: string): RaceBadge | null => {
  const last = sampleRaces.findLast(({ task_id: id }) => id === task);
  return last ? badgeOf(last) : null;
};

export function sampleRaceTasks(project: string): Task[] {
  const raced = (number: number, title: string, change: Partial<Task>): Task =>
    sampleTask({
      id: `t${number}`,
      number,
      title,
      project_id: project,
      position: number,
      status: "in_progress",
      race: { enabled: true },
      raced: lastOf(`t${number}`),
      roles: { coder: { type: "agent", id: "a2" } },
      usage: { ...sampleUsage, cost_micro_usd: 61_000 },
      status_since: at(24),
      ...change,
    });
  const waits = (reason: "race_running" | "race_crown", message: string) => ({
    reason,
    message,
    until: null,
    files: [],
  });
  const away = [offer("hold", "Hold"), offer("cancel", "Cancel task")];
  return [
    raced(1, "Rate-limit the login endpoint", {
      waiting: waits("race_running", "3 of 6 entries finished"),
      offers: away,
    }),
    raced(2, "Read the configuration once", {
      waiting: waits("race_crown", "broad is the suggested winner; a person chooses"),
      offers: [offer("crown", "Pick as winner", ["entry"]), ...away],
    }),
    raced(3, "Drop the last callers of the old client", {
      status: "blocked",
      error_annotation: {
        type: "race_no_winner",
        from_state: "in_progress",
        message: "No entry passed the race.",
        details: null,
        execution_id: null,
        evidence: null,
        at: at(9),
      },
      offers: [
        offer("race_again", "Race again"),
        offer("single_agent", "Use one agent"),
        offer("crown", "Pick as winner", ["entry"]),
        ...away,
      ],
    }),
    raced(4, "Cache the parsed configuration", {
      status: "review",
      review: { attempt_number: 1, status: "passed", verdict: "pass", reviewed_commit: null },
      diff_stat: { files: 2, added: 34, removed: 8 },
      workspace: sampleWorkspace(),
    }),
    raced(5, "Move the settings page to the new router", {
      status: "todo",
      raced: null,
      race: { enabled: true, maxParallel: 3 },
      offers: away,
    }),
    raced(6, "Write the release notes", { status: "todo", race: null, raced: null }),
  ];
}
