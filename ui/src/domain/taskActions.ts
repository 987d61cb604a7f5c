/** What can be done to a task wherever it is shown: in its panel, on its card, for a selection. */
import type { Task, WorkflowView } from "#ui/api/generated.ts";
import { isClosed, movesFrom } from "#ui/domain/steps.ts";
import { showToast } from "#ui/components/Toast.tsx";
import { t } from "#ui/i18n/index.ts";

/** The agent that would do the work; null when nobody or the person would. */
export function workingAgent(task: Task, workRole: string | null | undefined): string | null {
  const holder = workRole ? task.roles[workRole] : null;
  return holder?.type === "agent" ? holder.id : null;
}

/** Whether work on it can begin now. */
export function isStartable(task: Task, view: WorkflowView | undefined): boolean {
  const kind = view?.workflow.states.find(({ name }) => name === task.status)?.kind ?? "";
  // What waits or is held up goes on by itself, or by what the banner offers.
  const underWay = kind === "active" && (task.waiting !== null || task.error_annotation !== null);
  return !task.live && !underWay && ["initial", "active"].includes(kind);
}

/** Whom starting gives it to, without a question; null when nobody holds the work. */
export const starterOf = (task: Task, view: WorkflowView | undefined): string | null =>
  isStartable(task, view)
    ? (workingAgent(task, view?.claim_role) ?? workingAgent(task, view?.work_role))
    : null;

/** Every action on tasks, in the order in which menus and bars have them. */
export const taskActionIds = [
  "start",
  "stop",
  "move",
  "assign",
  "link",
  "editor",
  "delete",
] as const;

export type TaskActionId = (typeof taskActionIds)[number];

/** Why an action can be done to none of some tasks. */
export type ClosedReason =
  | "noTask"
  | "noStart"
  | "noStop"
  | "noMove"
  | "noRole"
  | "oneEditor"
  | "noWorktree"
  | "notClosed";

/** Whether some of them may be moved to a state that the others may be moved to, or are in. */
function sharesMove(tasks: readonly Task[], view: WorkflowView | undefined): boolean {
  const ways = tasks.map(({ status }) => ({ status, to: movesFrom(view?.moves ?? [], status) }));
  return ways
    .flatMap(({ to }) => to)
    .some((state) => ways.every(({ status, to }) => status === state || to.includes(state)));
}

const hasWorktree = ({ workspace }: Task): boolean =>
  workspace !== null && workspace.status !== "cleaned";

/** Null when the action can be done to at least one of the tasks. */
export function closedBecause(
  id: TaskActionId,
  tasks: readonly Task[],
  view: WorkflowView | undefined,
): ClosedReason | null {
  if (tasks.length === 0) return "noTask";
  switch (id) {
    case "start":
      return tasks.some((task) => starterOf(task, view) !== null) ? null : "noStart";
    case "stop":
      return tasks.some(({ live }) => live !== null) ? null : "noStop";
    case "move":
      return sharesMove(tasks, view) ? null : "noMove";
    case "assign":
      return (view?.workflow.roles ?? []).length > 0 ? null : "noRole";
    case "link":
      return null;
    case "editor":
      if (tasks.length > 1) return "oneEditor";
      return tasks.some(hasWorktree) ? null : "noWorktree";
    case "delete":
      // The engine deletes closed tasks alone.
      return tasks.every((task) => isClosed(task, view?.workflow)) ? null : "notClosed";
  }
}

/** Copies the links of tasks, a line each. */
export function copyLinks(tasks: readonly Task[]): void {
  navigator.clipboard.writeText(tasks.map(({ id }) => `forge://task/${id}`).join("\n")).then(
    () => showToast({ tone: "success", title: t("task.linkCopied") }),
    () => showToast({ tone: "danger", title: t("action.copyFailed") }),
  );
}
