/** Facts for tests and for the page opened in a plain browser. */
import type {
  Agent,
  Project,
  State,
  Task,
  Usage,
  Workflow,
  WorkflowView,
} from "#ui/api/generated.ts";

export const sampleNow = Date.UTC(2030, 0, 15, 12);
const ago = (minutes: number) => new Date(sampleNow - minutes * 60_000).toISOString();

export const sampleUsage: Usage = {
  input_uncached: null,
  cache_read: null,
  cache_write: null,
  output: null,
  reasoning: null,
  cost_micro_usd: null,
  runs_of_unknown_cost: 0,
};

export function sampleTask(change: Partial<Task> = {}): Task {
  return {
    id: "t1",
    number: 1,
    project_id: "p1",
    title: "Read the configuration once",
    description: "",
    status: "todo",
    priority: 0,
    position: 1,
    version: 1,
    parent_id: null,
    execution_mode: "independent",
    subtask_order: null,
    commit_result: null,
    subtasks: { closed: 0, total: 0 },
    depends_on: [],
    blocked_by: [],
    roles: {},
    review_config: null,
    merge_config: null,
    task_state_config: null,
    review_passed_at: null,
    entry_barrier: null,
    error_annotation: null,
    waiting: null,
    held: false,
    offers: [],
    budgets: {
      review: { used: 0, limit: 2 },
      merge_fix: { used: 0, limit: 1 },
      execution: { used: 0, limit: 2 },
    },
    workspace: null,
    live: null,
    review: null,
    diff_stat: null,
    usage: sampleUsage,
    created_at: ago(3_000),
    updated_at: ago(60),
    status_since: ago(60),
    ...change,
  };
}

export function sampleAgent(change: Partial<Agent> = {}): Agent {
  return {
    id: "a1",
    name: "Codex local",
    adapter: "shell",
    config: { command: "codex exec < {prompt_file}" },
    model: null,
    max_concurrent: 1,
    paused: false,
    running: 0,
    created_at: ago(9_000),
    updated_at: ago(9_000),
    ...change,
  };
}

export function sampleProject(change: Partial<Project> = {}): Project {
  return {
    id: "p1",
    name: "Website",
    repo_path: "/home/me/website",
    default_branch: "main",
    work_mode: "direct_commit",
    paused: false,
    version: 1,
    created_at: ago(90_000),
    updated_at: ago(9_000),
    ...change,
  };
}

const state = (name: string, display_name: string, rest: Partial<State>): State => ({
  name,
  display_name,
  kind: "custom",
  column: display_name,
  ...rest,
});

/** The default workflow, as far as a window looks at it. */
export const sampleWorkflow: Workflow = {
  name: "default",
  roles: [
    { name: "coder", display_name: "Coder" },
    { name: "reviewer", display_name: "Reviewer" },
  ],
  cancellation_state: "cancelled",
  states: [
    state("backlog", "Backlog", {
      kind: "backlog",
      triggers: { accept: { to: "todo" }, reject: { to: "cancelled" } },
    }),
    state("todo", "Todo", {
      kind: "initial",
      triggers: { accept: { to: "in_progress" }, reject: { to: "backlog" } },
    }),
    state("in_progress", "In progress", {
      kind: "active",
      role: "coder",
      triggers: { accept: { to: "review" } },
    }),
    state("review", "Review", {
      kind: "gate",
      role: "reviewer",
      gate_config: { reject_target: "in_progress", max_rejections: 2 },
      triggers: { accept: { to: "merging" }, reject: { to: "in_progress", session: "fork" } },
    }),
    state("merging", "Merging", {
      kind: "gate",
      column: "Review",
      triggers: { accept: { to: "done" }, fail: { to: "merge_failed" } },
    }),
    state("merge_failed", "Merge failed", {
      column: "Review",
      role: "coder",
      triggers: { retry: { to: "in_progress", session: "resume" } },
    }),
    state("blocked", "Blocked", { kind: "blocked" }),
    state("done", "Done", { kind: "terminal" }),
    state("cancelled", "Cancelled", { kind: "terminal" }),
  ],
};

export const sampleWorkflowView: WorkflowView = {
  workflow: sampleWorkflow,
  moves: sampleWorkflow.states.map(({ name, kind }) => ({
    from: name,
    to:
      kind === "terminal"
        ? ["todo"]
        : sampleWorkflow.states.map((other) => other.name).filter((other) => other !== name),
  })),
  dispatching: ["in_progress"],
  work_role: "coder",
  source: "project",
  origin: null,
  version: 1,
};
