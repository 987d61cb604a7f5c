/** A host's answers about races (`?sample=races`). */
import type {
  EntryEstimate,
  EstimateNewRace,
  Execution,
  Race,
  RaceEntry,
  RaceEstimate,
  TakeOffer,
  Task,
} from "#ui/api/generated.ts";
import { sampleWorkspace } from "./sample.ts";
import { sampleExecutions } from "./sampleConversation.ts";
import { badgeOf, sampleRaces } from "./sampleRaces.ts";
import { at } from "./sampleTasks.ts";

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
