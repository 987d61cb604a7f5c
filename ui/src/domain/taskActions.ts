/** What can be done to a task wherever it is shown: in its panel, on its card, for a selection. */
import type { Task, WorkflowView } from "#ui/api/generated.ts";
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

/** Copies the links of tasks, a line each. */
export function copyLinks(tasks: readonly Task[]): void {
  navigator.clipboard.writeText(tasks.map(({ id }) => `forge://task/${id}`).join("\n")).then(
    () => showToast({ tone: "success", title: t("task.linkCopied") }),
    () => showToast({ tone: "danger", title: t("action.copyFailed") }),
  );
}
