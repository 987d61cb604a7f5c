/** Races in every state, the tasks that their entries are worked on as, and the inner loop of a project. */
import type {
  EntryEstimate,
  EstimateNewRace,
  Execution,
  InnerLoopState,
  Race,
  RaceBadge,
  RaceEntry,
  RaceEstimate,
  SubsystemStatus,
  TakeOffer,
  Task,
  ValueSource,
} from "#ui/api/generated.ts";
import { sampleTask, sampleUsage, sampleWorkspace } from "./sample.ts";
import { sampleExecutions } from "./sampleConversation.ts";
import { at } from "./sampleTasks.ts";

const base = "9f4c1d27ab5e4e07a2f1c3b6d8e9f0a1b2c3d4e5";
const commit = (number: number) => `${number}a1b2c3d4e5f60718293a4b5c6d7e8f901234567`.slice(0, 40);

export function sampleEntry(
  name: string,
  change: Partial<Omit<RaceEntry, "strategy">> = {},
): RaceEntry {
  return {
    strategy: name,
    agent_id: "a2",
    model: null,
    effort: null,
    prompt_suffix: null,
    task_id: `t1-${name}`,
    status: "finished",
    reason: null,
    gate: "passed",
    checks: 1,
    score: null,
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
    id: `race-${change.task_id ?? "t1"}-${change.number ?? 1}`,
    task_id: "t1",
    number: 1,
    status: "promoted",
    base_commit: base,
    reviewer_enabled: false,
    max_parallel: 2,
    timeout_sec: 1_800,
    human_crown: false,
    name_decides: false,
    keep_losers_days: 7,
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
    crowned_by: null,
    error: null,
    started_at: at(24),
    finished_at: at(9),
    losers_until: at(-10_080),
    ...change,
  };
}

export const badgeOf = (race: Race): RaceBadge => ({
  number: race.number,
  status: race.status,
  entries: race.entries.length,
  over: race.entries.filter(({ status }) => status !== "queued" && status !== "running").length,
  winner: race.winner,
});

const own = (task: string, entry: RaceEntry): RaceEntry => ({
  ...entry,
  task_id: `${task}-${entry.strategy}`,
});

const raceOf = (task: string, change: Partial<Race>): Race => {
  const race = sampleRace({ ...change, task_id: task });
  return { ...race, entries: race.entries.map((entry) => own(task, entry)) };
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

const estimate = (name: string, agent: string, median: number | null): EntryEstimate => ({
  name,
  agent_id: agent,
  model: null,
  median_micro_usd: median,
  samples: median === null ? 0 : 12,
});

const everyAgent = [
  estimate("claude", "a2", 42_000),
  estimate("codex-local", "a1", 18_500),
  estimate("night-shift", "a3", 9_500),
];

function estimateOf(entries: EntryEstimate[]): RaceEstimate {
  const known = entries.flatMap(({ median_micro_usd: median }) => median ?? []);
  const total = known.reduce((sum, median) => sum + median, 0);
  return { entries, total_micro_usd: known.length < entries.length ? null : total };
}

interface Races {
  refuse(code: string, message: string): never;
  task(id: string): Task;
  change(id: string, change: Partial<Task>): Task;
}

/** An entry as the task that it is. */
function entryTask(parent: Task, entry: RaceEntry): Task {
  const isLive = entry.status === "running";
  return {
    ...parent,
    id: entry.task_id,
    parent_id: parent.id,
    execution_mode: "race_entry",
    raced: null,
    race: null,
    waiting: null,
    error_annotation: null,
    offers: [],
    diff_stat: entry.diff_stat,
    workspace:
      entry.status === "queued" ? null : sampleWorkspace({ status: isLive ? "active" : "cleaned" }),
    live: isLive
      ? {
          execution_id: `e-${entry.task_id}`,
          agent_id: entry.agent_id,
          role: "coder",
          activity: "cargo test --workspace --test login_limits",
          started_at: entry.started_at ?? at(4),
        }
      : null,
  };
}

export function createSampleRaces({ refuse, task, change }: Races) {
  let races = [...sampleRaces];
  const page = <Item>(items: readonly Item[]) => ({ items: [...items], next_cursor: null });
  const entryOf = (id: string) => {
    for (const race of races) {
      const entry = race.entries.find(({ task_id: own }) => own === id);
      if (entry) return { race, entry };
    }
    return null;
  };
  const execution = (id: string): Execution[] => {
    const found = entryOf(id);
    const like = sampleExecutions[0];
    if (!found || !like || found.entry.status === "queued") return [];
    return [
      {
        ...like,
        id: `e-${id}`,
        log_id: "e1",
        task_id: id,
        agent_id: found.entry.agent_id,
        status: found.entry.status === "running" ? "running" : "finished",
        cost_micro_usd: found.entry.cost_micro_usd,
        started_at: found.entry.started_at ?? at(4),
        finished_at: found.entry.finished_at,
      },
    ];
  };
  return {
    task_get: ({ task_id }: { task_id: string }) => {
      const found = entryOf(task_id);
      return found ? entryTask(task(found.race.task_id), found.entry) : task(task_id);
    },
    task_races: ({ task_id }: { task_id: string }) =>
      page(races.filter((race) => race.task_id === task_id)),
    task_executions: ({ task_id }: { task_id: string }) => page(execution(task_id)),
    race_estimate: () => estimateOf(everyAgent),
    project_race_estimate: ({ strategies }: EstimateNewRace) =>
      estimateOf(
        strategies && strategies.length > 0
          ? strategies.map(({ name, agent_id: agent, model }) =>
              estimate(name, agent, model === "new" ? null : 42_000),
            )
          : everyAgent,
      ),
    task_action: ({ task_id, verb, entry }: TakeOffer) => {
      const last = races.findLast((race) => race.task_id === task_id);
      if (verb !== "crown" || !last) {
        const offers = { offers: [], error_annotation: null, waiting: null };
        return { task: change(task_id, { status: "in_progress", ...offers }), review: null };
      }
      if (!last.entries.some(({ strategy }) => strategy === entry)) {
        refuse("invalid", `failed to crown: the race has no entry \`${entry ?? ""}\``);
      }
      const picked: Race = {
        ...last,
        status: "promoted",
        winner: entry ?? null,
        crowned_by: "user:board",
        finished_at: at(0),
      };
      races = races.map((race) => (race === last ? picked : race));
      const after = {
        status: "review",
        raced: badgeOf(picked),
        waiting: null,
        error_annotation: null,
        offers: [],
      };
      return { task: change(task_id, after), review: null };
    },
  };
}

const isTree = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** What later layers say wins; lists are replaced as wholes. */
function layered(...layers: readonly unknown[]): unknown {
  return layers.reduce((below, above) => {
    if (!isTree(below) || !isTree(above)) return above === undefined ? below : above;
    const keys = new Set([...Object.keys(below), ...Object.keys(above)]);
    return Object.fromEntries([...keys].map((key) => [key, layered(below[key], above[key])]));
  });
}

export const defaultLoop = {
  reviewer: { enabled: false },
  competitive: {
    enabled: false,
    maxParallel: 2,
    timeoutSec: 1_800,
    strategies: [],
    humanCrown: false,
    nameDecides: false,
    keepLosersDays: 7,
  },
  autoFix: { enabled: true, applyWithoutReview: false, maxChangedLines: 200, agentId: null },
  costAnomaly: { enabled: true, ratio: 2, medianWindow: 20, minSamples: 1 },
  stopOnStagnation: false,
  reflexion: { enabled: false },
  trajectory: { enabled: false },
  knowledge: { enabled: false },
  postmortem: { enabled: false },
  gateSuggestions: { enabled: false },
};

/** What `.forge.json` of the sample's default branch says. */
export const repositoryLoop = {
  competitive: { enabled: true, maxParallel: 3 },
  costAnomaly: { ratio: 1.5 },
};

/** What is in force. */
export const loopOf = (own: unknown, file: unknown = repositoryLoop): unknown =>
  layered(defaultLoop, file, isTree(own) ? own : {});

function sourcesOf(own: unknown, file: unknown): Record<string, ValueSource> {
  const at = (tree: unknown, path: readonly string[]) =>
    path.reduce<unknown>((node, key) => (isTree(node) ? node[key] : undefined), tree);
  const walk = (value: unknown, path: readonly string[]): [string, ValueSource][] => {
    if (isTree(value))
      return Object.entries(value).flatMap(([key, of]) => walk(of, [...path, key]));
    const source =
      at(own, path) !== undefined
        ? "project"
        : at(file, path) !== undefined
          ? "repository"
          : "default";
    return [[path.join("."), source]];
  };
  return Object.fromEntries(walk(defaultLoop, []));
}

export interface LoopHooks {
  /** What the project says under `innerLoop`. */
  ownOf(project: string): unknown;
}

const part = (
  name: SubsystemStatus["name"],
  setting: string,
  change: Partial<SubsystemStatus> = {},
): SubsystemStatus => ({
  name,
  setting,
  enabled: false,
  source: "default",
  recorded: false,
  last: null,
  open: 0,
  ...change,
});

/** The inner loop of a project, as its settings and its tasks have it. */
export function createSampleLoop({ ownOf }: LoopHooks) {
  const state = (project: string): InnerLoopState => ({
    config: loopOf(ownOf(project)) as InnerLoopState["config"],
    sources: sourcesOf(ownOf(project), repositoryLoop),
    repository: {
      commit: "5f0e1d2c3b4a59687786958493a2b1c0d9e8f7a6",
      looked_at: "77aa1d2c3b4a59687786958493a2b1c0d9e8f7a6",
      findings: [
        { path: "innerLoop.costAnomaly.ratoi", message: "is not known; did you mean `ratio`?" },
      ],
      inner_loop: repositoryLoop,
    },
  });
  const about = (number: number, title: string) => ({ id: `t${number}`, number, title });
  const parts: readonly SubsystemStatus[] = [
    part("reviewer", "reviewer.enabled", {
      recorded: true,
      last: {
        at: at(38),
        task: about(2, "Read the configuration once"),
        effect: "broad 90, narrow 60",
      },
    }),
    part("competitive", "competitive.enabled", {
      recorded: true,
      open: 2,
      last: {
        at: at(9),
        task: about(4, "Cache the parsed configuration"),
        effect: "cheap won against 2",
      },
    }),
    part("auto_fix", "autoFix.enabled", {
      recorded: true,
      open: 1,
      last: {
        at: at(66),
        task: about(1, "Keep the limiter’s clock"),
        effect: "drafted: a patch of src/limiter.rs",
      },
    }),
    part("cost_anomaly", "costAnomaly.enabled", { recorded: true }),
    part("validate", "stopOnStagnation"),
    part("reflexion", "reflexion.enabled", {
      recorded: true,
      last: {
        at: at(14),
        task: about(4, "Cache the parsed configuration"),
        effect:
          "run 2 began with: Review attempt 1 of 3 failed: `cargo test --workspace` exited with 101",
      },
    }),
    part("trajectory", "trajectory.enabled", {
      recorded: true,
      last: {
        at: at(8),
        task: about(4, "Cache the parsed configuration"),
        effect: "a note of 41 words",
      },
    }),
    part("knowledge", "knowledge.enabled", {
      recorded: true,
      open: 3,
      last: {
        at: at(1_700),
        task: about(3, "Drop the last callers of the old client"),
        effect: "proposed: The limiter counts per process",
      },
    }),
    part("postmortem", "postmortem.enabled", {
      recorded: true,
      last: {
        at: at(8),
        task: about(4, "Cache the parsed configuration"),
        effect: "2 attempts, first failed: cargo test --workspace",
      },
    }),
    part("gate_suggestions", "gateSuggestions.enabled", { recorded: true }),
  ];
  return {
    project_inner_loop: ({ project_id }: { project_id: string }) => state(project_id),
    inner_loop_status: ({ project_id }: { project_id: string }) => {
      const { config, sources } = state(project_id);
      const valueAt = (path: string) =>
        path.split(".").reduce<unknown>((node, key) => (isTree(node) ? node[key] : node), config);
      return {
        items: parts.map((each) => ({
          ...each,
          enabled: valueAt(each.setting) === true,
          source: sources[each.setting] ?? ("default" as const),
        })),
        next_cursor: null,
      };
    },
  };
}
