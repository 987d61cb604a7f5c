/** A task and everything around it, for tests of the panel. Every part can be replaced. */
import type {
  Agent,
  DiffSummary,
  Execution,
  FileChange,
  LogEntry,
  LogPage,
  Review,
  Task,
  Transition,
  Workspace,
  WorkflowView,
} from "#ui/api/generated.ts";
import {
  sampleAgent,
  sampleTask,
  sampleWorkflow,
  sampleWorkflowView,
  sampleWorkspace,
} from "#ui/test/sample.ts";
import { cast, first, recorded } from "#ui/test/recorded.ts";
import { sampleReview } from "#ui/test/sampleReview.ts";
import { sampleExecution } from "#ui/test/sampleRuns.ts";
import { sampleUnvalidated } from "#ui/test/sampleValidate.ts";

export const at = (minutesAgo: number): string =>
  new Date(Date.now() - minutesAgo * 60_000).toISOString();

export function someTask(changes: Partial<Task> = {}): Task {
  return sampleTask({
    number: 42,
    title: "Rate-limit the login endpoint",
    description: "Five attempts a minute per address.",
    status: "in_progress",
    priority: 3,
    version: 7,
    roles: { coder: { type: "agent", id: "a1" }, reviewer: null },
    offers: [
      { verb: "hold", label: "Hold", fields: [], why: "Starts nothing new for the task." },
      { verb: "cancel", label: "Cancel task", fields: [], why: "Closes the task." },
    ],
    budgets: {
      review: { used: 1, limit: 3 },
      merge_fix: { used: 0, limit: 1 },
      execution: { used: 0, limit: 2 },
    },
    created_at: at(300),
    updated_at: at(2),
    status_since: at(30),
    ...changes,
  });
}

export const someExecution = (changes: Partial<Execution> = {}): Execution =>
  sampleExecution({ started_at: at(30), finished_at: at(20), ...changes });

export function someEntry(seq: number, changes: Partial<LogEntry> = {}): LogEntry {
  return {
    seq,
    at: seq * 1_000,
    execution_id: "e1",
    turn: 1,
    id: `i${seq}`,
    parent_id: null,
    kind: "assistant_text",
    status: null,
    body: { text: `entry ${seq}` },
    raw_offset: 0,
    ...changes,
  };
}

/** Answers a stretch as the engine does: the end without `after` and `before`. */
export function pageOf(
  entries: readonly LogEntry[],
  request: { after?: number | null; before?: number | null; limit?: number | null },
): LogPage {
  const limit = request.limit ?? 50;
  const numbered = (entry: LogEntry) => entry.seq ?? 0;
  let found = [...entries];
  if (typeof request.after === "number") {
    const { after } = request;
    found = found.filter((entry) => numbered(entry) > after).slice(0, limit);
  } else {
    const before = request.before ?? Number.POSITIVE_INFINITY;
    found = found.filter((entry) => numbered(entry) < before).slice(-limit);
  }
  return {
    entries: found,
    first_seq: found[0]?.seq ?? 0,
    last_seq: found.at(-1)?.seq ?? 0,
    total: entries.length,
  };
}

export const someAgent: Agent = sampleAgent({ name: "Claude" });

export const someWorkflow: WorkflowView = {
  ...sampleWorkflowView,
  moves: sampleWorkflow.states.map(({ name: from }) => ({
    from,
    to: ["todo", "in_progress", "cancelled"].filter((to) => to !== from),
  })),
  dispatching: ["in_progress", "review"],
};

export function someWorkspace(changes: Partial<Workspace> = {}): Workspace {
  return sampleWorkspace({ created_at: at(60), updated_at: at(4), ...changes });
}

export const someReview = (changes: Partial<Review> = {}): Review =>
  sampleReview({ work_execution_id: null, finished_at: at(10), ...changes });

const moved = first(recorded("task_transitions", { task_id: cast.tasks.done }));

export function someTransition(changes: Partial<Transition> = {}): Transition {
  return {
    ...moved,
    id: "x1",
    from: "todo",
    to: "in_progress",
    trigger: "claim",
    actor: "user:board",
    reason: null,
    steps: [],
    at: at(30),
    ...changes,
  };
}

export function someFile(path: string, changes: Partial<FileChange> = {}): FileChange {
  return {
    path,
    old_path: null,
    kind: "modified",
    old_mode: "100644",
    new_mode: "100644",
    added: 3,
    removed: 1,
    binary: false,
    generated: false,
    untracked: false,
    old_size: 900,
    new_size: 1_000,
    old_blob: null,
    new_blob: null,
    ...changes,
  };
}

export function someSummary(files: FileChange[]): DiffSummary {
  return {
    base: "9f4c1d27ab5e",
    head: null,
    files,
    added: files.reduce((sum, file) => sum + file.added, 0),
    removed: files.reduce((sum, file) => sum + file.removed, 0),
    outside_review: null,
    there: null,
  };
}

/** An answer to everything the panel asks, over the parts given. */
export function answersFor({
  task,
  executions = [],
  entries = [],
  reviews = [],
  transitions = [],
  relatives = [],
}: {
  task: Task;
  executions?: Execution[];
  entries?: LogEntry[];
  reviews?: Review[];
  transitions?: Transition[];
  /** Its parts, and the tasks it waits for. */
  relatives?: Task[];
}) {
  const page = <Item>(items: Item[]) => ({ items, next_cursor: null });
  return {
    task_get: ({ task_id: id }: { task_id: string }) =>
      relatives.find((each) => each.id === id) ?? task,
    task_subtasks: () => page(relatives.filter(({ parent_id: parent }) => parent === task.id)),
    project_workflow_get: () => someWorkflow,
    project_settings_get: () => ({
      settings: { review_config: { ci_steps: ["npm test"] } },
      own: {},
    }),
    agent_list: () => page([someAgent]),
    machine_list: () => page([]),
    task_executions: () => page(executions),
    execution_logs: (input: {
      execution_id: string;
      after?: number;
      before?: number;
      limit?: number;
    }) =>
      pageOf(
        entries.filter((entry) => entry.execution_id === input.execution_id),
        input,
      ),
    approval_list: () => page([]),
    fix_list: () => ({ proposals: [], drafts: [] }),
    task_services: () => ({ items: [], next_cursor: null }),
    ...sampleUnvalidated(),
    task_debrief: () => ({ note: null, postmortems: [] }),
    task_reviews: () => page(reviews),
    task_merges: () => page([]),
    task_pull_request: () => ({ pull_request: null }),
    task_transitions: () => page(transitions),
    task_workspace: () => task.workspace,
    task_backups: () => page([]),
    task_diff: () => someSummary([]),
    task_comments: () => page([]),
    task_prompt_preview: () => ({
      text: "You are working on task 42.",
      layers: [{ kind: "task", text: "You are working on task 42." }],
    }),
  };
}
