/** Facts for tests and for the page opened in a plain browser: what the engine answered, but for what a test looks at. */
import type {
  Agent,
  OrphanFolder,
  Project,
  ProjectDisk,
  Task,
  Usage,
  Workflow,
  WorkflowView,
  Workspace,
  WorkspaceBackup,
  WorkspaceView,
} from "#ui/api/generated.ts";
import { cast, first, recorded } from "./recorded.ts";

export const sampleNow = Date.UTC(2030, 0, 15, 12);
const ago = (minutes: number) => new Date(sampleNow - minutes * 60_000).toISOString();

/** Of a task on which nobody has worked. */
const fresh = recorded("task_get", { task_id: cast.tasks.user });

export const sampleUsage: Usage = fresh.usage;

export function sampleTask(change: Partial<Task> = {}): Task {
  return {
    ...fresh,
    id: "t1",
    number: 1,
    project_id: "p1",
    title: "Read the configuration once",
    description: "",
    priority: 0,
    position: 1,
    version: 1,
    roles: {},
    review_config: null,
    health: "idle",
    offers: [],
    machines: null,
    created_at: ago(3_000),
    updated_at: ago(60),
    status_since: ago(60),
    ...change,
  };
}

const agents = recorded("agent_list", {});

export function sampleAgent(change: Partial<Agent> = {}): Agent {
  return {
    ...first(agents),
    id: "a1",
    name: "Codex local",
    config: { command: "codex exec < {prompt_file}" },
    max_concurrent: 1,
    running: 0,
    created_at: ago(9_000),
    updated_at: ago(9_000),
    ...change,
  };
}

const website = recorded("project_get", { project_id: cast.project });

export function sampleProject(change: Partial<Project> = {}): Project {
  return {
    ...website,
    id: "p1",
    name: "Website",
    repo_path: "/home/me/website",
    created_at: ago(90_000),
    updated_at: ago(9_000),
    ...change,
  };
}

/** The default workflow. */
export const sampleWorkflowView: WorkflowView = {
  ...recorded("project_workflow_get", { project_id: cast.project }),
  version: 1,
};
export const sampleWorkflow: Workflow = sampleWorkflowView.workflow;

const root = "/home/me/.local/share/forge/workspaces/website";

const workspaces = recorded("workspace_list", {});

export function sampleWorkspace(change: Partial<Workspace> = {}): Workspace {
  const {
    project_id: _p,
    task_number: _n,
    task_title: _t,
    task_status: _s,
    ...workspace
  } = first(workspaces);
  return {
    ...workspace,
    id: "w1",
    task_id: "t1",
    status: "active",
    path: `${root}/1-read-the-configuration-once-3f9a/tree`,
    branch: "forge/0199f3a2-77c4-7b1e-9d4c-6a1f3b2c8d90",
    machine_id: null,
    cleanup_at: null,
    disk_bytes: 184_320_000,
    lock: null,
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
    ...first(recorded("workspace_disk", {})),
    project_id: "p1",
    tasks_bytes: 1_240_000_000,
    slots_bytes: null,
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
