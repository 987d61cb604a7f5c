/**
 * A host with a lively project, for the page opened in a plain browser and for component tests.
 * It answers like the engine where the window looks, and decides as little as it can.
 * Samples: `empty` (nothing there), `new` (a project without tasks), `broken` (every read fails),
 * `troubles` (one task of each kind of trouble and wait), `diff` (changes with comments, a conflict),
 * `agents` (agents at work that ask, with a conversation of every kind of entry),
 * `costs` (ten thousand runs with what they cost; `costs-few` a hundred),
 * `review` (one task of each kind of review, merge, pull request and delivery),
 * `races` (a race of each kind, the inner loop of a project),
 * `shut` (other programs cannot reach it), `unguarded` (started with --no-mcp and --no-auth),
 * `full` (the disk is full), `low` (little space is left, and a deletion waits for an answer);
 * anything else is the full one.
 */
import type {
  AssignRole,
  Column,
  CreateProject,
  CreateTask,
  ListTasks,
  MoveTask,
  Notification,
  Project,
  Task,
  UpdateTask,
  Workflow,
} from "#ui/api/generated.ts";
import { createFakePlatform, type FakePlatform } from "#ui/platform/fake.ts";
import { sampleBackup, sampleProject, sampleTask, sampleWorkflow } from "./sample.ts";
import { sampleHookOutput, sampleMoves, sampleTroubles } from "./sampleTroubles.ts";
import { createSampleAgents, sampleAgentTasks } from "./sampleAgents.ts";
import { createSampleCosts } from "./sampleCosts.ts";
import { createSampleDiff, sampleDiffTasks } from "./sampleDiff.ts";
import { createSampleApiAccess } from "./sampleApiAccess.ts";
import { createSampleStorage } from "./sampleStorage.ts";
import { createSampleFixes, sampleFixTasks } from "./sampleFixes.ts";
import { createSampleValidate, sampleUnvalidated, sampleValidateTasks } from "./sampleValidate.ts";
import { createSampleKnowledge } from "./sampleKnowledge.ts";
import { createSamplePlaces } from "./samplePlaces.ts";
import { createSampleProcess } from "./sampleProcess.ts";
import { createSampleProfiles } from "./sampleProfiles.ts";
import { createSampleLoop } from "./sampleLoop.ts";
import { createSampleRaces } from "./sampleRaceHost.ts";
import { sampleRaceTasks } from "./sampleRaces.ts";
import { createSampleReview, sampleReviewTasks } from "./sampleReviewHost.ts";
import { createSampleSettings } from "./sampleSettings.ts";
import { createSampleTeaching } from "./sampleTeaching.ts";
import { createSampleTrust } from "./sampleTrust.ts";
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
  const tasks =
    sample === null
      ? tasksOf("p1", size)
      : sample === "costs" || sample === "costs-few"
        ? tasksOf("p1", 60)
        : sample === "troubles"
          ? sampleTroubles("p1")
          : sample === "review"
            ? sampleReviewTasks("p1")
            : sample === "diff"
              ? sampleDiffTasks("p1")
              : sample === "agents"
                ? sampleAgentTasks("p1")
                : sample === "races"
                  ? sampleRaceTasks("p1")
                  : sample === "fixes"
                    ? sampleFixTasks("p1")
                    : sample === "validate"
                      ? sampleValidateTasks("p1")
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
  const project = (id: string) =>
    projects.find((each) => each.id === id) ?? refuse("not_found", `no project ${id}`);
  const task = (id: string) =>
    tasks.find((each) => each.id === id) ?? refuse("not_found", `no task ${id}`);
  const of = (id: string) => tasks.filter(({ project_id }) => project_id === id);
  const page = <Item>(items: readonly Item[]) => ({ items: [...items], next_cursor: null });

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

  const changed = (...tags: string[]) => host.commit({ tags });
  const profiles = createSampleProfiles({ sample, tasks, refuse, changed });
  const settings = createSampleSettings({
    refuse,
    changed,
    checkHooks: (hooks) => process.checkHooks(hooks),
  });
  const process = createSampleProcess({
    refuse,
    tasksOf: of,
    changed,
    settingsOf: (id) => settings.ownOf(id),
  });

  const reviewing = createSampleReview({
    refuse,
    changed,
  });

  const atWork = createSampleAgents({
    sample,
    refuse,
    task,
    change: edit,
    changed,
    profilesOf: profiles.profilesOf,
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
    ...createSampleCosts(sample === "costs" ? 10_000 : sample === "costs-few" ? 100 : 0),
    ...createSampleKnowledge({
      full: sample === null,
      byPullRequest: () => project("p1").work_mode === "pull_request",
      refuse,
      changed,
    }),
    ...settings.answers,
    ...createSampleTrust(sample),
    ...createSampleTeaching({
      debriefed: new Set(sample === "races" ? ["t4"] : []),
      unchecked: "p2",
      takeChecks: (project_id, ci_steps) => {
        const change = { project_id, review_config: { ci_steps } };
        settings.answers.project_settings_update(change);
      },
    }),
    ...createSampleLoop({ ownOf: (id) => settings.ownOf(id)["innerLoop"] }),
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
    ...createSampleApiAccess({ sample, changed }),
    ...createSampleStorage({ sample, refuse, changed }),
    ...profiles.answers,
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
        review: { attempt_number: 1, status: "passed", verdict: "pass", reviewed_commit: null },
      }),
      review: null,
    }),
    attention: () =>
      page(
        tasks
          .filter(
            ({ id, error_annotation, review, status, waiting }) =>
              error_annotation ||
              waiting?.reason === "race_crown" ||
              atWork.approval_list({ task_id: id }).items.length > 0 ||
              (status === "review" && review?.status === "awaiting_human"),
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
    ...createSamplePlaces({
      projects,
      tasks,
      refuse,
      changed,
    }),
    ...atWork,
    ...(sample === "diff" || sample === "races"
      ? createSampleDiff({ refuse, change: edit, changed: (...tags) => host.commit({ tags }) })
      : {}),
    fix_list: () => ({ proposals: [], drafts: [] }),
    ...(sample === "fixes" ? createSampleFixes({ refuse, changed }) : {}),
    ...(sample === "validate" ? createSampleValidate({ refuse, changed }) : sampleUnvalidated()),
    race_estimate: () => ({ entries: [], total_micro_usd: null }),
    project_race_estimate: () => ({ entries: [], total_micro_usd: null }),
    ...(sample === "races" ? createSampleRaces({ refuse, task, change: edit }) : {}),
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
          "See the engine's log.",
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
