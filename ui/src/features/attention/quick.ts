/** What can be done about a task from a list, without typing anything. Pure. */
import { askedFor } from "#ui/domain/asks.ts";
import { isByHand, movesFrom, stateOf, stepsFrom } from "#ui/domain/steps.ts";
import type { Approval, Offer, State, Task, WaitReason, WorkflowView } from "#ui/api/generated.ts";

export type Quick =
  | { readonly kind: "approve"; readonly label: string }
  | { readonly kind: "offer"; readonly offer: Offer };

/** How many are shown; the rest are in the task. */
const most = 3;
/** Closing a task, throwing its worktree away or giving its machine up is not done in passing. */
const heavy: ReadonlySet<Offer["verb"]> = new Set(["cancel", "reset_workspace", "give_up_machine"]);

export function offersFor(task: Task, state: State | undefined): readonly Quick[] {
  const awaits =
    task.error_annotation === null &&
    task.work_changed === null &&
    task.review?.status === "awaiting_human";
  const approve: Quick[] = awaits
    ? [{ kind: "approve", label: state?.gate_config?.approve_label ?? "" }]
    : [];
  const offers = task.offers
    .filter(({ fields, verb }) => fields.length === 0 && !heavy.has(verb))
    .map((offer): Quick => ({ kind: "offer", offer }));
  return [...approve, ...offers].slice(0, most);
}

const lines = 3;

/** The beginning of the proof: the command with its exit code, and the end of its output. */
export function evidenceHead(task: Task): string | null {
  const evidence = task.error_annotation?.evidence;
  if (!evidence) return task.waiting?.files.slice(0, lines).join("\n") || null;
  const output = evidence.output.trim().split("\n").slice(-lines);
  const command =
    evidence.command === null
      ? []
      : [`$ ${evidence.command}${evidence.exit_code === null ? "" : `  → ${evidence.exit_code}`}`];
  return [...command, ...output].join("\n").trim() || null;
}

/** Whether somebody has to move it on: nothing is wrong with it, and nothing happens by itself. */
export const awaitsStep = (task: Task, state: State | undefined): boolean =>
  state !== undefined &&
  isByHand(state) &&
  task.error_annotation === null &&
  (task.waiting === null || task.waiting.reason === "undo") &&
  task.live === null &&
  !task.held &&
  task.execution_mode !== "race_entry";

/** Where a task that awaits a step can go, the usual way first; any way where its workflow names none. */
export function stepsOf(task: Task, view: WorkflowView | undefined): readonly string[] {
  const state = stateOf(view?.workflow, task.status);
  if (!view || !state || !awaitsStep(task, state)) return [];
  const named = stepsFrom(state, view.moves);
  return (named.length > 0 ? named : movesFrom(view.moves, task.status)).slice(0, most);
}

export type InboxEntry =
  | { readonly kind: "task"; readonly since: string; readonly task: Task }
  | { readonly kind: "ask"; readonly since: string; readonly approval: Approval };

/** Waits that only a person can end; the others pass by themselves. */
const personsWaits: ReadonlySet<WaitReason> = new Set([
  "target_checkout_dirty",
  "git_locked",
  "race_crown",
]);

/** Whether a task needs the person for more than an answer to its agent. */
const needsMore = ({ error_annotation, review, waiting }: Task): boolean =>
  error_annotation !== null ||
  review?.status === "awaiting_human" ||
  (waiting !== null && personsWaits.has(waiting.reason));

/**
 * Tasks and questions as one list, what waits longest first. The engine counts a task whose agent asks among those
 * that need the person; its questions stand for it.
 */
export function inboxOf(
  tasks: readonly Task[],
  approvals: readonly Approval[],
): readonly InboxEntry[] {
  const asking = new Set(approvals.map(askedFor));
  const rows = tasks.filter((task) => needsMore(task) || !asking.has(task.id));
  const entries: InboxEntry[] = [
    ...rows.map((task) => ({ kind: "task" as const, since: task.status_since, task })),
    ...approvals.map((approval) => ({ kind: "ask" as const, since: approval.asked_at, approval })),
  ];
  return entries.sort((one, other) => Date.parse(one.since) - Date.parse(other.since));
}
