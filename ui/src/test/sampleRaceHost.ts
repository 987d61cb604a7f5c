/** A host's answers about races (`?sample=races`). */
import type { EntryEstimate, Execution, RaceEntry, RaceEstimate, Task } from "#ui/api/generated.ts";
import { pageOf, refuse, type Handlers } from "./answers.ts";
import { cast, first, recorded } from "./recorded.ts";
import { sampleWorkspace } from "./sample.ts";
import { sampleExecutions } from "./sampleConversation.ts";
import { sampleRaces } from "./sampleRaces.ts";
import { at } from "./sampleTasks.ts";

const known = first({
  items: recorded("race_estimate", { task_id: cast.tasks.raced }).entries,
});

const estimate = (name: string, agent: string, median: number | null): EntryEstimate => ({
  ...known,
  name,
  agent_id: agent,
  median_micro_usd: median,
  samples: median === null ? 0 : 12,
});

const everyAgent = [
  estimate("claude", "a2", 42_000),
  estimate("codex-local", "a1", 18_500),
  estimate("night-shift", "a3", 9_500),
];

function estimateOf(entries: EntryEstimate[]): RaceEstimate {
  const medians = entries.flatMap(({ median_micro_usd: median }) => median ?? []);
  const total = medians.reduce((sum, median) => sum + median, 0);
  return { entries, total_micro_usd: medians.length < entries.length ? null : total };
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

const found = (id: string) => {
  for (const race of sampleRaces) {
    const entry = race.entries.find(({ task_id: own }) => own === id);
    if (entry) return { race, entry };
  }
  return null;
};

function executionOf({ status, ...entry }: RaceEntry): Execution[] {
  const like = sampleExecutions[0];
  if (!like || status === "queued") return [];
  return [
    {
      ...like,
      id: `e-${entry.task_id}`,
      log_id: "e1",
      task_id: entry.task_id,
      agent_id: entry.agent_id,
      status: status === "running" ? "running" : "finished",
      cost_micro_usd: entry.cost_micro_usd,
      started_at: entry.started_at ?? at(4),
      finished_at: entry.finished_at,
    },
  ];
}

/** What every agent of the sample costs. */
const sampleEstimate = estimateOf(everyAgent);

/** What strategies cost, one an agent and median. */
export const sampleEstimateOf = (medians: readonly (number | null)[]) =>
  estimateOf(medians.map((median, index) => estimate(`strategy-${index + 1}`, "a1", median)));

export function raceAnswers(tasks: readonly Task[]): Handlers {
  const task = (id: string) =>
    tasks.find((each) => each.id === id) ?? refuse("not_found", `no task ${id}`);
  return {
    task_get: ({ task_id }) => {
      const of = found(task_id);
      return of ? entryTask(task(of.race.task_id), of.entry) : task(task_id);
    },
    task_races: ({ task_id }) => pageOf(sampleRaces.filter((race) => race.task_id === task_id)),
    task_executions: ({ task_id }) => {
      const of = found(task_id);
      return pageOf(of ? executionOf(of.entry) : []);
    },
    race_estimate: () => sampleEstimate,
    project_race_estimate: () => sampleEstimate,
  };
}
