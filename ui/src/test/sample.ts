/** Facts for tests and for the page opened in a plain browser. */
import type {
  Agent,
  OrphanFolder,
  Project,
  ProjectDisk,
  State,
  Task,
  Usage,
  Workflow,
  WorkflowView,
  Workspace,
  WorkspaceBackup,
  WorkspaceView,
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
    race: null,
    review_passed_at: null,
    entry_barrier: null,
    error_annotation: null,
    waiting: null,
    held: false,
    health: "idle",
    offers: [],
    budgets: {
      review: { used: 0, limit: 2 },
      merge_fix: { used: 0, limit: 1 },
      execution: { used: 0, limit: 2 },
    },
    workspace: null,
    live: null,
    review: null,
    raced: null,
    diff_stat: null,
    unmerged_commits: 0,
    closed_unmerged: false,
    work_changed: null,
    pull_request: null,
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
  claim_role: "coder",
  source: "project",
  origin: null,
  version: 1,
};

const root = "/home/me/.local/share/forge/workspaces/website";

export function sampleWorkspace(change: Partial<Workspace> = {}): Workspace {
  return {
    id: "w1",
    task_id: "t1",
    status: "active",
    path: `${root}/1-read-the-configuration-once-3f9a/tree`,
    branch: "forge/0199f3a2-77c4-7b1e-9d4c-6a1f3b2c8d90",
    base_commit: "9f4c1d27ab5e4e07a2f1c3b6d8e9f0a1b2c3d4e5",
    cleanup_at: null,
    disk_bytes: 184_320_000,
    error: null,
    lock: null,
    port_base: 42_100,
    created_at: ago(600),
    updated_at: ago(4),
    ...change,
  };
}

export function sampleWorkspaceView(change: Partial<WorkspaceView> = {}): WorkspaceView {
  return {
    ...sampleWorkspace(),
    project_id: "p1",
    task_number: 1,
    task_title: "Read the configuration once",
    task_status: "in_progress",
    ...change,
  };
}

export function sampleDisk(change: Partial<ProjectDisk> = {}): ProjectDisk {
  return {
    project_id: "p1",
    tasks_bytes: 1_240_000_000,
    unmeasured: 0,
    slots: 0,
    slots_bytes: null,
    cap_bytes: null,
    over: false,
    ...change,
  };
}

export function sampleOrphan(change: Partial<OrphanFolder> = {}): OrphanFolder {
  return {
    path: `${root}/9-drop-the-old-parser-77aa/tree`,
    project_id: "p1",
    bytes: 96_000_000,
    last_change: ago(4_000),
    branch: "forge/0199e000-0000-7000-8000-000000000009",
    unmerged_commits: 0,
    uncommitted: 0,
    adoptable: true,
    ...change,
  };
}

export function sampleBackup(change: Partial<WorkspaceBackup> = {}): WorkspaceBackup {
  return {
    task_id: "t1",
    ref_name: "refs/forge/backup/t1/1",
    commit: "5f0e1d2c3b4a59687786958493a2b1c0d9e8f7a6",
    files: 3,
    at: ago(300),
    ...change,
  };
}
