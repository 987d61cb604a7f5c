/** The reads of tasks and of their board, over the tasks of a sample. */
import type { Column, Notification, Project, Task } from "#ui/api/generated.ts";
import { placeOf } from "#ui/domain/machines/machines.ts";
import { pageOf, refuse, type Handlers } from "./answers.ts";
import { cast, first, recorded } from "./recorded.ts";
import { sampleBackup, sampleProject } from "./sample.ts";
import { sampleHookOutput, sampleMoves, sampleTroubles } from "./sampleTroubles.ts";
import { sampleAgentTasks } from "./sampleAgents.ts";
import { sampleExtremes } from "./sampleExtremes.ts";
import { sampleDiffTasks } from "./sampleDiff.ts";
import { sampleFixTasks } from "./sampleFixes.ts";
import { sampleIssueTasks } from "./sampleIssues.ts";
import { samplePrinted } from "./sampleProcess.ts";
import { samplePlacedTasks } from "./samplePlacedTasks.ts";
import { sampleRaceTasks } from "./sampleRaces.ts";
import { sampleReviewTasks } from "./sampleReviewHost.ts";
import { sampleValidateTasks } from "./sampleValidate.ts";
import { at, tasksOf, titles } from "./sampleTasks.ts";

const kinds: Readonly<Record<string, (project: string) => Task[]>> = {
  costs: (project) => tasksOf(project, 60),
  "costs-few": (project) => tasksOf(project, 60),
  extremes: sampleExtremes,
  troubles: sampleTroubles,
  review: sampleReviewTasks,
  diff: sampleDiffTasks,
  many: sampleDiffTasks,
  agents: sampleAgentTasks,
  races: sampleRaceTasks,
  fixes: sampleFixTasks,
  machines: samplePlacedTasks,
  issues: sampleIssueTasks,
  validate: sampleValidateTasks,
};

/** The tasks that need a person, the longest waiting first. */
const needy: Readonly<Record<string, readonly string[]>> = {
  extremes: ["t2", "t3"],
  troubles: ["x1", "x2", "x3", "x4", "x8", "x15"],
  review: ["unusable", "awaiting", "conflict", "closed"],
  diff: ["t1", "t2"],
  many: ["t1", "t2"],
  agents: ["t1", "t2"],
  races: ["t2", "t3"],
  fixes: ["t5"],
  machines: ["t6"],
  issues: [],
  validate: [],
};

export const sampleTasksOf = (sample: string | null, size: number): Task[] =>
  sample === null ? tasksOf("p1", size) : (kinds[sample]?.("p1") ?? []);

export const sampleProjects = (sample: string | null): Project[] =>
  sample === "empty" ? [] : [sampleProject(), sampleProject({ id: "p2", name: "Parser" })];

function sampleNotification(change: Partial<Notification> = {}): Notification {
  return {
    ...first(recorded("notification_list", {})),
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
  };
}

export const sampleNotifications = (): Notification[] => [
  sampleNotification(),
  sampleNotification({
    id: "n2",
    kind: "awaiting_human",
    task_id: "t7",
    task_number: 7,
    title: "Approve me",
    body: "Checks passed; nobody else reviews it.",
    created_at: at(140),
  }),
  sampleNotification({
    id: "n3",
    kind: "done",
    task_number: 44,
    title: titles[4] ?? "",
    body: "Merged into main.",
    read: true,
    created_at: at(900),
  }),
];

const { columns } = recorded("project_board", { project_id: cast.project });

/** The recorded board with these tasks on it. */
const boardColumns = (tasks: readonly Task[]): Column[] =>
  columns.map((column) => ({
    ...column,
    count: tasks.filter(({ status }) => column.states.includes(status)).length,
  }));

export function boardAnswers(
  sample: string | null,
  projects: readonly Project[],
  tasks: readonly Task[],
): Handlers {
  const project = (id: string) =>
    projects.find((each) => each.id === id) ?? refuse("not_found", `no project ${id}`);
  const task = (id: string) =>
    tasks.find((each) => each.id === id) ?? refuse("not_found", `no task ${id}`);
  const of = (id: string) => tasks.filter(({ project_id }) => project_id === id);
  const needing = needy[sample ?? ""] ?? ["t7", "t3", "t2"];
  return {
    project_list: () => pageOf(projects),
    project_get: ({ project_id }) => project(project_id),
    project_board: ({ project_id }) => ({ columns: boardColumns(of(project_id)) }),
    task_list: ({ project_id, status, q, machine, limit, cursor }) => {
      const text = q?.toLocaleLowerCase() ?? "";
      const found = of(project_id)
        .filter((each) => !status || status.includes(each.status))
        .filter((each) => !machine || placeOf(each) === machine)
        .filter(({ number, title }) => `#${number} ${title}`.toLocaleLowerCase().includes(text))
        .toSorted((one, other) => (one.position ?? 0) - (other.position ?? 0));
      const from = Number(cursor ?? 0);
      const to = from + (limit ?? 50);
      return { items: found.slice(from, to), next_cursor: to < found.length ? String(to) : null };
    },
    task_find: ({ project_id, number }) =>
      of(project_id).find((each) => each.number === number) ??
      refuse("not_found", `no task #${number}`),
    task_get: ({ task_id }) => task(task_id),
    task_subtasks: ({ task_id }) => pageOf(tasks.filter(({ parent_id }) => parent_id === task_id)),
    attention: () => pageOf(tasks.filter(({ id }) => needing.includes(id)).toSorted(bySince)),
    task_executions: () => pageOf([]),
    task_transitions: () => pageOf(sampleMoves),
    task_workspace: ({ task_id }) =>
      task(task_id).workspace ?? refuse("not_found", `no workspace of task \`${task_id}\``),
    task_backups: ({ task_id }) => pageOf([sampleBackup({ task_id, at: at(300) })]),
    task_prompt_preview: () => recorded("task_prompt_preview", { task_id: cast.tasks.working }),
    task_log: () => samplePrinted(sampleHookOutput),
    notification_list: () => pageOf(sample === null ? sampleNotifications() : []),
  };
}

const bySince = (one: Task, other: Task) => one.status_since.localeCompare(other.status_since);
