/**
 * A host with a lively project, for the page opened in a plain browser and for component tests. It answers reads with
 * what a sample holds. A write is recorded as a call and answered with the object that it concerns, unchanged: what
 * the engine makes of a write is not known here. A test that needs the state after a write supplies it (`answer`,
 * `after`, `change`).
 * Samples: `empty` (nothing there), `new` (a project without tasks), `broken` (every read fails),
 * `troubles` (one task of each kind of trouble and wait), `diff` (changes with comments, a conflict),
 * `many` (changes of 309 files),
 * `agents` (agents at work that ask, with a conversation of every kind of entry),
 * `costs` (ten thousand runs with what they cost; `costs-few` a hundred),
 * `review` (one task of each kind of review, merge, pull request and delivery),
 * `machines` (tasks on machines, and tasks that wait for one),
 * `races` (a race of each kind, the inner loop of a project),
 * `issues` (tasks of issues, an import that was interrupted), `no-host` (a project without a code host),
 * `shut` (other programs cannot reach it), `unguarded` (started with --no-mcp and --no-auth),
 * `full` (the disk is full), `low` (little space is left, and a deletion waits for an answer);
 * anything else is the full one.
 */
import type { Task } from "#ui/api/generated.ts";
import { createFakePlatform, type FakePlatform } from "#ui/platform/fake.ts";
import { refuse, type Handlers, type Input, type OpName, type Output } from "./answers.ts";
import { agentAnswers } from "./sampleAgents.ts";
import { apiAccessAnswers } from "./sampleApiAccess.ts";
import { boardAnswers, sampleProjects, sampleTasksOf } from "./sampleBoard.ts";
import { costAnswers } from "./sampleCosts.ts";
import { diffAnswers, manyAnswers } from "./sampleDiff.ts";
import { fixAnswers } from "./sampleFixes.ts";
import { healthAnswers } from "./sampleHealth.ts";
import { issueAnswers } from "./sampleIssues.ts";
import { knowledgeAnswers } from "./sampleKnowledge.ts";
import { loopAnswers } from "./sampleLoop.ts";
import { machineAnswers } from "./sampleMachines.ts";
import { placeAnswers } from "./samplePlaces.ts";
import { processAnswers } from "./sampleProcess.ts";
import { profileAnswers } from "./sampleProfiles.ts";
import { raceAnswers } from "./sampleRaceHost.ts";
import { reviewAnswers } from "./sampleReviewHost.ts";
import { scoreAnswers } from "./sampleScores.ts";
import { serviceAnswers } from "./sampleServices.ts";
import { settingsAnswers } from "./sampleSettings.ts";
import { storageAnswers } from "./sampleStorage.ts";
import { teachingAnswers } from "./sampleTeaching.ts";
import { trustAnswers } from "./sampleTrust.ts";
import { sampleUnvalidated, validateAnswers } from "./sampleValidate.ts";
import { unchangedAnswers } from "./sampleWrites.ts";

type Answer<Op extends OpName> =
  | Output<Op>
  | ((input: Input<Op>) => Output<Op> | Promise<Output<Op>>);

export interface SampleHost extends FakePlatform {
  readonly tasks: readonly Task[];
  /** What the operation answers from now on. */
  answer<Op extends OpName>(op: Op, answer: Answer<Op>): void;
  /** What follows a call of a write: reads that answer anew, tags of the change that tells of it. */
  after<Op extends OpName>(op: Op, answer: Answer<Op>, next: () => void, ...tags: string[]): void;
  /** Puts other facts into a task and tells the page, as if somebody else had changed it. */
  change(id: string, change: Partial<Task>): Task;
}

const runsWithCosts: Readonly<Record<string, number>> = { costs: 10_000, "costs-few": 100 };

function readsOf(sample: string | null, tasks: readonly Task[]): Handlers {
  const projects = sampleProjects(sample);
  return {
    meta: () => ({
      version: "0.1.0",
      data_dir: "/home/me/.local/share/forge",
      git_version: "2.50.0",
    }),
    ...boardAnswers(sample, projects, tasks),
    ...healthAnswers(),
    ...processAnswers(),
    ...costAnswers(runsWithCosts[sample ?? ""] ?? 0),
    ...scoreAnswers(sample),
    ...knowledgeAnswers(sample === null),
    ...settingsAnswers(),
    ...trustAnswers(sample),
    ...teachingAnswers(sample),
    ...loopAnswers(),
    ...apiAccessAnswers(sample),
    ...storageAnswers(sample),
    ...profileAnswers(sample),
    ...machineAnswers(sample),
    ...issueAnswers(sample, tasks),
    ...reviewAnswers(),
    ...placeAnswers(projects, tasks),
    ...agentAnswers(sample),
    ...(sample === "diff" || sample === "races" ? diffAnswers() : {}),
    ...(sample === "many" ? manyAnswers() : {}),
    ...serviceAnswers(),
    ...(sample === "fixes" ? fixAnswers() : { fix_list: () => ({ proposals: [], drafts: [] }) }),
    ...(sample === "validate" ? validateAnswers() : sampleUnvalidated()),
    race_estimate: () => ({ entries: [], total_micro_usd: null }),
    project_race_estimate: () => ({ entries: [], total_micro_usd: null }),
    ...(sample === "races" ? raceAnswers(tasks) : {}),
  };
}

export function createSampleHost(sample: string | null = null, size = 500): SampleHost {
  const tasks = sampleTasksOf(sample, size);
  const answers: Record<string, (input: never) => unknown> = {};
  const read = <Op extends OpName>(op: Op, input: Input<Op>) =>
    answers[op]?.(input as never) as Output<Op>;
  Object.assign(answers, readsOf(sample, tasks), unchangedAnswers({ read, tasks }));
  if (sample === "broken") {
    const fail = () =>
      refuse("internal", "failed to read: the database is locked by another program", null, [
        "See the engine's log.",
      ]);
    for (const op of Object.keys(answers)) answers[op] = fail;
  }

  const platform = createFakePlatform(answers, { folder: "/home/me/code/shop" });
  const answer: SampleHost["answer"] = (op, value) => {
    answers[op] = typeof value === "function" ? (value as (input: never) => unknown) : () => value;
  };
  return Object.assign(platform, {
    tasks,
    answer,
    after: <Op extends OpName>(op: Op, value: Answer<Op>, next: () => void, ...tags: string[]) =>
      answer(op, (input) => {
        next();
        platform.commit({ tags });
        return typeof value === "function"
          ? (value as (input: Input<Op>) => Output<Op>)(input)
          : value;
      }),
    change: (id: string, change: Partial<Task>): Task => {
      const index = tasks.findIndex((each) => each.id === id);
      const before = tasks[index];
      if (!before) throw new Error(`Could not change task ${id}: the sample has none of that id.`);
      const after = { ...before, ...change };
      tasks[index] = after;
      platform.commit({
        task_id: id,
        project_id: after.project_id,
        tags: [`task:${id}`, `board:${after.project_id}`, "attention"],
      });
      return after;
    },
  });
}
