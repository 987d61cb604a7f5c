/** From the dialog's fields to the contract's input. Pure. */
import type { Agent, CreateTask, ExecutionMode, Task } from "#ui/api/generated.ts";
import { raceOf, type RaceDraft } from "#ui/domain/race/strategies.ts";
import { priorityNumber, type PriorityLevel } from "#ui/domain/priority.ts";

/** What the new task is part of. */
export interface Part {
  readonly parent: Task;
  readonly mode: ExecutionMode;
}

export interface Draft {
  readonly title: string;
  readonly description: string;
  /** An agent's id, `user`, or nobody. */
  readonly agent: string;
  /** Likewise. */
  readonly reviewer: string;
  readonly priority: PriorityLevel;
  /** Null leaves the checks to the project. */
  readonly checks: readonly string[] | null;
  /** Labels of its machine; null leaves them to the agent and the project. */
  readonly machines: readonly string[] | null;
  readonly dependsOn: readonly string[];
  readonly part: Part | null;
  /** Null leaves the work to one agent. */
  readonly race: RaceDraft | null;
}

export const nobody = "nobody";

/** The agent a new task starts with: the only one, else the one chosen last while it exists. */
export function presetAgent(agents: readonly Agent[], last: string | null): string {
  const only = agents.length === 1 ? agents[0] : undefined;
  return only?.id ?? agents.find(({ id }) => id === last)?.id ?? nobody;
}

export function toLines(text: string): string[] {
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
}

export function toInput(
  projectId: string,
  draft: Draft,
  roles: { readonly work: string | null; readonly review: string | null },
): CreateTask {
  const held: Record<string, string> = {};
  // A part that runs in turn is the work of its parent's agent.
  const inTurn = draft.part?.mode === "ordered_turn";
  if (roles.work && draft.agent !== nobody && !inTurn) held[roles.work] = draft.agent;
  if (roles.review && draft.reviewer !== nobody) held[roles.review] = draft.reviewer;
  return {
    project_id: projectId,
    title: draft.title.trim(),
    ...(draft.description.trim() ? { description: draft.description } : {}),
    ...(draft.priority === "none" ? {} : { priority: priorityNumber(draft.priority) }),
    ...(draft.checks ? { review_config: { ci_steps: [...draft.checks] } } : {}),
    ...(Object.keys(held).length > 0 ? { roles: held } : {}),
    ...(draft.machines && !inTurn ? { machines: [...draft.machines] } : {}),
    ...(draft.dependsOn.length > 0 ? { depends_on: [...draft.dependsOn] } : {}),
    ...(draft.race ? { race: raceOf(draft.race) } : {}),
    ...(draft.part ? { parent_id: draft.part.parent.id, execution_mode: draft.part.mode } : {}),
  };
}
