/**
 * A host with a lively project, for the page opened in a plain browser and for component tests.
 * It answers like the engine where the window looks, and decides as little as it can.
 * Samples: `empty` (nothing there), `new` (a project without tasks), `broken` (every read fails),
 * `troubles` (one task of each kind of trouble and wait), `diff` (changes with comments, a conflict),
 * `agents` (agents at work that ask, with a conversation of every kind of entry),
 * `review` (one task of each kind of review, merge, pull request and delivery);
 * anything else is the full one.
 */
import type {
  Agent,
  AssignRole,
  Column,
  CreateAgent,
  CreateProject,
  CreateTask,
  AdoptOrphan,
  ListTasks,
  MoveTask,
  Notification,
  Project,
  Task,
  UpdateTask,
  Workflow,
} from "#ui/api/generated.ts";
import { createFakePlatform, type FakePlatform } from "#ui/platform/fake.ts";
import {
  sampleAgent,
  sampleBackup,
  sampleDisk,
  sampleOrphan,
  sampleProject,
  sampleTask,
  sampleWorkflow,
  sampleWorkspaceView,
} from "./sample.ts";
import { sampleHookOutput, sampleMoves, sampleTroubles } from "./sampleTroubles.ts";
import { createSampleAgents, sampleAgentTasks, sampleConfigFinding } from "./sampleAgents.ts";
import { createSampleDiff, sampleDiffTasks } from "./sampleDiff.ts";
import { createSampleKnowledge } from "./sampleKnowledge.ts";
import { createSampleProcess } from "./sampleProcess.ts";
import { createSampleReview, sampleReviewTasks } from "./sampleReviewHost.ts";
import { at, tasksOf, titles } from "./sampleTasks.ts";

function refuse(
  code: string,
  message: string,
  details: unknown = null,
  hints: string[] = [],
): never {
  // The shape of the contract's error, as a host rejects with it.
  throw { code, message, hints, details };
}

/** A merge patch, one level down: null takes a key away. */
const merged = (before: unknown, patch: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries({ ...(before as object), ...patch }).filter(([, value]) => value !== null),
  );

const notification = (change: Partial<Notification>): Notification => ({
  id: "n1",
  kind: "blocked",
  project_id: "p1",
  task_id: "t2",
  task_number: 2,
  title: titles[2] ?? "",
  body: "Checks failed three times: cargo test exits with 101",
  read: false,
  created_at: at(25),
  ...change,
});

const boardColumns = (tasks: readonly Task[]): Column[] => {
  const columns = new Map<string, Column>();
  for (const { name, column } of sampleWorkflow.states) {
    const count = tasks.filter(({ status }) => status === name).length;
    const known = columns.get(column);
    columns.set(
      column,
      known
        ? { ...known, states: [...known.states, name], count: known.count + count }
        : { name: column, states: [name], drop_state: name, hidden: name === "cancelled", count },
    );
  }
  return [...columns.values()];
};

export interface SampleHost extends FakePlatform {
  readonly tasks: Task[];
  /** Puts a workflow in force as somebody else would. */
  replaceWorkflow(project: string, workflow: Workflow): void;
  /** Raises a project's version without a word to the page. */
  bumpVersion(project: string): void;
  /** Changes a task and tells the page, as the engine would. */
  change(id: string, change: Partial<Task>): Task;
}

export function createSampleHost(sample: string | null = null, size = 500): SampleHost {
  const projects: Project[] =
    sample === "empty" ? [] : [sampleProject(), sampleProject({ id: "p2", name: "Parser" })];
  const agents: Agent[] =
    sample === "empty"
      ? []
      : [
          sampleAgent({ running: 1 }),
          sampleAgent({
            id: "a2",
            name: "Claude",
            max_concurrent: 3,
            running: 2,
            model: "opus",
            config: { command: "claude", args: ["-p", "{prompt_file}"], env: { CI: "1" } },
          }),
          sampleAgent({
            id: "a3",
            name: "Night shift",
            paused: true,
            config: { command: "night-shift {prompt_file}" },
          }),
          ...(sample === "agents"
            ? [
                sampleAgent({
                  id: "a4",
                  name: "Codex",
                  adapter: "codex",
                  config: { permissions: "ask", effort: "high", cost_micro_usd: 2_000_000 },
                  model: "gpt-5.1-codex",
                  running: 1,
                  max_concurrent: 2,
                }),
              ]
            : []),
        ];
  const tasks =
    sample === null
      ? tasksOf("p1", size)
      : sample === "troubles"
        ? sampleTroubles("p1")
        : sample === "review"
          ? sampleReviewTasks("p1")
          : sample === "diff"
            ? sampleDiffTasks("p1")
            : sample === "agents"
              ? sampleAgentTasks("p1")
              : [];
  const notifications =
    sample === null
      ? [
          notification({}),
          notification({
            id: "n2",
            kind: "awaiting_human",
            task_id: "t7",
            task_number: 7,
            title: "Approve me",
            body: "Checks passed; nobody else reviews it.",
            created_at: at(140),
          }),
          notification({
            id: "n3",
            kind: "done",
            task_number: 44,
            title: titles[4] ?? "",
            body: "Merged into main.",
            read: true,
            created_at: at(900),
          }),
        ]
      : [];
  // What is on disk is dated by the real clock here, as the tasks are.
  const worktrees = tasks
    .filter(({ live }) => live !== null)
    .slice(0, 4)
    .map((each, index) =>
      sampleWorkspaceView({
        id: `w${each.id}`,
        task_id: each.id,
        project_id: each.project_id,
        task_number: each.number,
        task_title: each.title,
        task_status: each.status,
        disk_bytes: index === 2 ? null : 310_000_000 * (index + 1),
        lock:
          index === 0
            ? {
                execution_id: "e1",
                pid: 4711,
                start_time: 1,
                host: "desk",
                acquired_at: at(3),
              }
            : null,
        updated_at: at(index * 40 + 2),
      }),
    );
  const closed = tasks.find(({ status }) => status === "cancelled");
  if (closed) {
    worktrees.push(
      sampleWorkspaceView({
        id: "wc",
        task_id: closed.id,
        project_id: closed.project_id,
        task_number: closed.number,
        task_title: closed.title,
        task_status: closed.status,
        status: "scheduled",
        cleanup_at: at(-60 * 20),
        updated_at: at(240),
      }),
    );
  }
  const orphans =
    tasks.length > 0
      ? [
          sampleOrphan({ unmerged_commits: 3, uncommitted: 2, last_change: at(4_000) }),
          sampleOrphan({
            path: "/home/me/.local/share/forge/workspaces/website/left-behind",
            project_id: null,
            bytes: null,
            last_change: at(90_000),
            branch: null,
            adoptable: false,
          }),
        ]
      : [];
  const own: Record<string, Record<string, unknown>> = {
    p1: {
      review_config: { ci_steps: ["npm test", "npm run lint"] },
      max_concurrent: 6,
      lifecycle_hooks: {
        before_work: [
          { type: "script", command: "npm ci", timeout_seconds: 300, blocking: true },
          { type: "plugin", name: "knowledge-inject" },
        ],
        on_task_done: [{ type: "script", command: "scripts/notify.sh done" }],
      },
    },
  };

  const project = (id: string) =>
    projects.find((each) => each.id === id) ?? refuse("not_found", `no project ${id}`);
  const agent = (id: string) =>
    agents.find((each) => each.id === id) ?? refuse("not_found", `no agent ${id}`);
  const task = (id: string) =>
    tasks.find((each) => each.id === id) ?? refuse("not_found", `no task ${id}`);
  const of = (id: string) => tasks.filter(({ project_id }) => project_id === id);
  const page = <Item>(items: readonly Item[]) => ({ items: [...items], next_cursor: null });

  const settings = (id: string) => {
    const mine = own[id] ?? {};
    const defaults = {
      auto_approve: false,
      max_concurrent: 4,
      shell: ["bash", "-lc"],
      review_config: { ci_steps: null, ci_timeout_seconds: null, allow_changes: null },
      merge_config: { target_branch: null, strategy: null, message_template: null },
      setup: [],
      copy_files: [],
      auto_start: false,
      lifecycle_hooks: {},
      workspace_reuse: "off",
      workspace_pool_size: 3,
      workspace_disk_cap_mib: null,
      delete_merged_branches: false,
      workflow_source: "project",
      author: null,
      notifications: {
        blocked: true,
        awaiting_human: true,
        waiting: true,
        done: false,
        disk: true,
        agent_asks: true,
        cost: true,
      },
      cost_limits: { execution_micro_usd: null, task_micro_usd: null, day_micro_usd: null },
      model_prices: {},
    };
    const merged: Record<string, unknown> = { ...defaults };
    for (const [key, value] of Object.entries(mine)) {
      const base = merged[key];
      merged[key] =
        typeof value === "object" && value && !Array.isArray(value)
          ? { ...(base as object), ...value }
          : value;
    }
    return { settings: merged, own: mine };
  };

  const edit = (id: string, change: Partial<Task>): Task => {
    const index = tasks.findIndex((each) => each.id === id);
    const before = tasks[index] ?? task(id);
    const after = {
      ...before,
      ...change,
      version: before.version + 1,
      updated_at: new Date().toISOString(),
    };
    tasks[index] = after;
    host.commit({
      task_id: id,
      project_id: after.project_id,
      tags: [`task:${id}`, `board:${after.project_id}`, "attention"],
    });
    return after;
  };
  const editAgent = (id: string, change: Partial<Agent>): Agent => {
    const index = agents.findIndex((each) => each.id === id);
    const after = { ...agent(id), ...change };
    agents[index] = after;
    host.commit({ tags: ["agents"] });
    return after;
  };
  const editProject = (id: string, change: Partial<Project>): Project => {
    const index = projects.findIndex((each) => each.id === id);
    const after = { ...project(id), ...change };
    projects[index] = after;
    host.commit({ tags: ["projects"] });
    return after;
  };
  const addProject = (change: Partial<Project>): Project => {
    const added = sampleProject({ id: `p${projects.length + 1}`, ...change });
    projects.push(added);
    host.commit({ tags: ["projects"] });
    return added;
  };

  const process = createSampleProcess({
    refuse,
    tasksOf: of,
    changed: (...tags) => host.commit({ tags }),
    settingsOf: (id) => own[id] ?? {},
  });

  const reviewing = createSampleReview({
    refuse,
    changed: (...tags) => host.commit({ tags }),
  });

  const answers = {
    meta: () => ({
      version: "0.1.0",
      data_dir: "/home/me/.local/share/forge",
      git_version: "2.50.0",
    }),
    project_list: () => page(projects),
    project_get: ({ project_id }: { project_id: string }) => project(project_id),
    project_board: ({ project_id }: { project_id: string }) => ({
      columns: boardColumns(of(project(project_id).id)),
    }),
    ...process.answers,
    ...createSampleKnowledge({
      full: sample === null,
      byPullRequest: () => project("p1").work_mode === "pull_request",
      refuse,
      changed: (...tags) => host.commit({ tags }),
    }),
    project_settings_get: ({ project_id }: { project_id: string }) => settings(project_id),
    project_settings_update: ({ project_id, ...patch }: { project_id: string }) => {
      const mine: Record<string, unknown> = { ...own[project_id] };
      for (const [key, value] of Object.entries(patch as Record<string, unknown>)) {
        if (value === null) delete mine[key];
        else if (typeof value === "object" && !Array.isArray(value))
          mine[key] = merged(mine[key], value as Record<string, unknown>);
        else mine[key] = value;
      }
      const concurrent = mine["max_concurrent"];
      if (typeof concurrent === "number" && concurrent < 1) {
        refuse("invalid", "failed to change the settings: max_concurrent: must be at least 1", {
          findings: [{ path: "max_concurrent", message: "must be at least 1" }],
        });
      }
      const findings = process.checkHooks(mine["lifecycle_hooks"]);
      if (findings.length > 0) {
        refuse("invalid", "failed to change the settings: the input is not valid", { findings });
      }
      own[project_id] = mine;
      host.commit({ tags: ["projects"] });
      return settings(project_id);
    },
    project_create: (input: CreateProject) => {
      if (!input.repo_path.startsWith("/")) {
        refuse("invalid", "failed to add the project", {
          findings: [{ path: "repo_path", message: "is not a git repository" }],
        });
      }
      return addProject({
        name: input.name ?? input.repo_path.split("/").at(-1) ?? "",
        repo_path: input.repo_path,
      });
    },
    demo_create: () => addProject({ name: "Demo" }),
    project_update: ({ project_id, ...change }: { project_id: string }) =>
      editProject(project_id, change),
    project_pause: ({ project_id }: { project_id: string }) =>
      editProject(project_id, { paused: true }),
    project_resume: ({ project_id }: { project_id: string }) =>
      editProject(project_id, { paused: false }),
    project_delete: ({ project_id }: { project_id: string }) => {
      projects.splice(projects.indexOf(project(project_id)), 1);
      host.commit({ tags: ["projects"] });
      return { done: true };
    },
    agent_list: () => page(agents),
    agent_check: ({ agent_id }: { agent_id: string }) =>
      agent(agent_id).name === "Night shift"
        ? {
            found: false,
            program: null,
            version: null,
            signed_in: null,
            problem: "night-shift is not on the PATH",
            remedy: "Install it, or give its whole path in the profile.",
          }
        : {
            found: true,
            program: "/usr/local/bin/codex",
            version: null,
            signed_in: true,
            problem: null,
            remedy: null,
          },
    agent_create: (input: CreateAgent) => {
      const wrong = sampleConfigFinding(input);
      if (wrong) refuse("invalid", "failed to add the agent", { findings: [wrong] });
      if (agents.some(({ name }) => name === input.name))
        refuse("name_taken", `failed to add the agent: one is called ${input.name} already`);
      const added = sampleAgent({
        id: `a${agents.length + 1}`,
        name: input.name,
        adapter: input.adapter,
        config: input.config,
        model: input.model ?? null,
        max_concurrent: input.max_concurrent ?? 1,
      });
      agents.push(added);
      host.commit({ tags: ["agents"] });
      return added;
    },
    agent_update: ({ agent_id, ...change }: { agent_id: string }) => editAgent(agent_id, change),
    agent_pause: ({ agent_id }: { agent_id: string }) => editAgent(agent_id, { paused: true }),
    agent_resume: ({ agent_id }: { agent_id: string }) => editAgent(agent_id, { paused: false }),
    agent_delete: ({ agent_id }: { agent_id: string }) => {
      if (tasks.some(({ roles }) => roles["coder"]?.id === agent_id)) {
        refuse("in_use", "failed to remove the agent: tasks name it", null, [
          "Give its tasks to another agent first.",
        ]);
      }
      agents.splice(agents.indexOf(agent(agent_id)), 1);
      host.commit({ tags: ["agents"] });
      return { done: true };
    },
    task_list: ({ project_id, status, q, limit, cursor }: ListTasks) => {
      const text = q?.toLocaleLowerCase() ?? "";
      const found = of(project_id)
        .filter((each) => !status || status.includes(each.status))
        .filter(
          (each) =>
            text === "" || `#${each.number} ${each.title}`.toLocaleLowerCase().includes(text),
        )
        .sort((one, other) => (one.position ?? 0) - (other.position ?? 0));
      const from = Number(cursor ?? 0);
      const to = from + (limit ?? 50);
      return { items: found.slice(from, to), next_cursor: to < found.length ? String(to) : null };
    },
    task_find: ({ project_id, number }: { project_id: string; number: number }) =>
      of(project_id).find((each) => each.number === number) ??
      refuse("not_found", `no task #${number}`),
    task_get: ({ task_id }: { task_id: string }) => task(task_id),
    task_create: (input: CreateTask) => {
      if (input.title.length > 300) {
        refuse("invalid", "failed to create the task", {
          findings: [{ path: "title", message: "must be 1 to 300 characters on one line" }],
        });
      }
      const number = Math.max(0, ...of(input.project_id).map((each) => each.number)) + 1;
      const holder = input.roles?.["coder"];
      const added = sampleTask({
        id: `t${number}-${input.project_id}`,
        number,
        project_id: input.project_id,
        title: input.title,
        description: input.description ?? "",
        priority: input.priority ?? 0,
        parent_id: input.parent_id ?? null,
        execution_mode: input.execution_mode ?? "independent",
        depends_on: input.depends_on ?? [],
        position: number * 1024,
        roles: holder
          ? {
              coder: holder === "user" ? { type: "user", id: null } : { type: "agent", id: holder },
            }
          : {},
        status_since: at(0),
      });
      tasks.push(added);
      host.commit({ tags: [`board:${input.project_id}`] });
      return added;
    },
    task_claim: ({ task_id }: { task_id: string }) =>
      edit(task_id, { status: "in_progress", status_since: at(0) }),
    task_update: ({ task_id, ...change }: UpdateTask) => edit(task_id, change as Partial<Task>),
    task_assign: ({ task_id, role, holder }: AssignRole) =>
      edit(task_id, {
        roles: {
          ...task(task_id).roles,
          [role]:
            holder === null
              ? null
              : holder === "user"
                ? { type: "user", id: null }
                : { type: "agent", id: holder },
        },
      }),
    task_move: ({ task_id, to, before_id, after_id }: MoveTask) => {
      const moved = task(task_id);
      if (moved.title.startsWith("Refuse")) {
        refuse(
          "guard_rejected",
          "failed to move the task: conflict markers are left in src/main.rs",
          null,
          ["Resolve them first."],
        );
      }
      const anchor = before_id ?? after_id;
      const position = anchor
        ? (task(anchor).position ?? 0) + (before_id ? -1 : 1)
        : moved.position;
      const starts =
        to === "in_progress" && to !== moved.status && moved.roles["coder"]?.type === "agent";
      const after = edit(task_id, {
        status: to,
        position,
        live: to === moved.status ? moved.live : null,
        ...(to === moved.status ? {} : { status_since: at(0) }),
        waiting: starts
          ? {
              reason: "undo",
              until: new Date(Date.now() + 5_000).toISOString(),
              files: [],
              message: "Starts soon",
            }
          : null,
      });
      return { task: after, review: null };
    },
    task_undo: ({ task_id }: { task_id: string }) =>
      edit(task_id, { status: "todo", waiting: null }),
    task_action: ({ task_id }: { task_id: string }) => ({
      task: edit(task_id, { status: "in_progress", error_annotation: null, offers: [] }),
      review: null,
    }),
    review_approve: ({ task_id }: { task_id: string }) => ({
      task: edit(task_id, {
        status: "done",
        offers: [],
        review: { attempt_number: 1, status: "passed", verdict: "pass" },
      }),
      review: null,
    }),
    attention: () =>
      page(
        tasks
          .filter(
            ({ error_annotation, review, status }) =>
              error_annotation || (status === "review" && review?.status === "awaiting_human"),
          )
          .sort((one, other) => one.status_since.localeCompare(other.status_since)),
      ),
    task_executions: () => page([]),
    ...reviewing.answers,
    task_transitions: () => page(sampleMoves),
    execution_stop: ({ execution_id }: { execution_id: string }) => {
      const stopped = tasks.find(({ live }) => live?.execution_id === execution_id);
      return stopped ? edit(stopped.id, { live: null }) : refuse("not_found", "no such run");
    },
    task_workspace: ({ task_id }: { task_id: string }) => task(task_id).workspace,
    task_backups: ({ task_id }: { task_id: string }) =>
      page([sampleBackup({ task_id, at: at(300) })]),
    task_prompt_preview: () => ({
      text: "You are working on a task.",
      layers: [{ kind: "task", text: "You are working on a task." }],
    }),
    task_log: ({ log_id }: { log_id: string }) => ({
      entries: [
        {
          seq: 1,
          at: Date.now(),
          execution_id: log_id,
          turn: 1,
          id: "i1",
          parent_id: null,
          kind: "stdout",
          status: null,
          body: { text: sampleHookOutput },
          raw_offset: 0,
        },
      ],
      first_seq: 1,
      last_seq: 1,
      total: 1,
    }),
    task_subtasks: ({ task_id }: { task_id: string }) =>
      page(tasks.filter(({ parent_id }) => parent_id === task_id)),
    workspace_list: () => page(worktrees),
    workspace_disk: () =>
      page(
        projects
          .filter(({ id }) => worktrees.some(({ project_id }) => project_id === id))
          .map(({ id }) =>
            sampleDisk({
              project_id: id,
              unmeasured: 1,
              slots: 2,
              slots_bytes: 420_000_000,
              cap_bytes: 1_500_000_000,
              over: true,
            }),
          ),
      ),
    workspace_measure: () => ({ done: true }),
    workspace_orphans: () => page(orphans),
    workspace_keep: ({ task_id }: { task_id: string }) => {
      const index = worktrees.findIndex((each) => each.task_id === task_id);
      const kept = worktrees[index];
      if (!kept) return refuse("not_found", "failed to keep the worktree: there is none");
      worktrees[index] = { ...kept, status: "active", cleanup_at: null };
      host.commit({ tags: ["workspaces", `task:${task_id}`] });
      return worktrees[index];
    },
    workspace_remove: ({ task_id }: { task_id: string }) => {
      const index = worktrees.findIndex((each) => each.task_id === task_id);
      const [gone] = worktrees.splice(index, 1);
      host.commit({ tags: ["workspaces", `task:${task_id}`] });
      return gone;
    },
    orphan_reclaim: ({ path }: { path: string }) => {
      orphans.splice(
        orphans.findIndex((each) => each.path === path),
        1,
      );
      host.commit({ tags: ["workspaces"] });
      return { done: true };
    },
    orphan_adopt: ({ path, project_id, title }: AdoptOrphan) => {
      const index = orphans.findIndex((each) => each.path === path);
      const [taken] = orphans.splice(index, 1);
      const number = Math.max(0, ...of(project_id).map((each) => each.number)) + 1;
      const added = sampleTask({
        id: `t${number}-${project_id}`,
        number,
        project_id,
        title: title ?? taken?.branch ?? "",
        status_since: at(0),
      });
      tasks.push(added);
      host.commit({ tags: ["workspaces", `board:${project_id}`] });
      return added;
    },
    project_backups: ({ project_id }: { project_id: string }) =>
      page(
        worktrees
          .filter((each) => each.project_id === project_id)
          .slice(0, 2)
          .map(({ task_id }, index) =>
            sampleBackup({
              task_id,
              ref_name: `refs/forge/backup/${task_id}/1`,
              files: index + 2,
              at: at(300 * (index + 1)),
            }),
          ),
      ),
    backup_restore: () => ({ done: true }),
    ...createSampleAgents({
      sample,
      refuse,
      task,
      change: edit,
      changed: (...tags) => host.commit({ tags }),
      profilesOf: (adapter) =>
        agents.filter((each) => each.adapter === adapter).map(({ name }) => name),
    }),
    ...(sample === "diff"
      ? createSampleDiff({ refuse, change: edit, changed: (...tags) => host.commit({ tags }) })
      : {}),
    notification_list: () => page(notifications),
    notification_read: ({ ids }: { ids?: string[] }) => {
      notifications.forEach((each, index) => {
        if (!ids || ids.includes(each.id)) notifications[index] = { ...each, read: true };
      });
      host.commit({ tags: ["notifications"] });
      return { done: true };
    },
  };
  const broken = Object.fromEntries(
    Object.keys(answers).map((op) => [
      op,
      () =>
        refuse("internal", `failed to read: the database is locked by another program`, null, [
          "The log of the engine says more.",
        ]),
    ]),
  );
  const host: SampleHost = Object.assign(
    createFakePlatform(sample === "broken" ? broken : answers, { folder: "/home/me/code/shop" }),
    {
      tasks,
      change: edit,
      replaceWorkflow: (id: string, workflow: Workflow) => void process.replace(id, workflow),
      bumpVersion: (id: string) => process.bump(id),
    },
  );
  return host;
}
