/** Where tasks run: which machine fits now, by the engine's rule, and what is known of one. Pure. */
import type { Agent, Machine, Task, Workspace } from "#ui/api/generated.ts";

/** The computer that the engine is on, where a machine's id would be. */
export const thisComputer = "local";

/** Machines by their id. */
export type Machines = ReadonlyMap<string, Machine>;

/** What keeps new runs from a machine. */
export type Obstacle = "full" | "unreachable" | "draining";

export function obstacleOf({ draining, contact, caps, runs }: Machine): Obstacle | null {
  if (draining) return "draining";
  if (contact === "unreachable") return "unreachable";
  return caps.runs != null && runs >= caps.runs ? "full" : null;
}

/** Whether it has all of these labels; its name is one of them. */
export const hasLabels = ({ name, labels }: Machine, required: readonly string[]): boolean =>
  required.every((label) => label === name || labels.includes(label));

export type Fit =
  | { readonly kind: "here" }
  | { readonly kind: "fits"; readonly machine: Machine }
  /** Those that have the labels start nothing now. */
  | { readonly kind: "held"; readonly obstacle: Obstacle; readonly machines: readonly Machine[] }
  | { readonly kind: "none" };

/** What ends first of the obstacles: a run by itself, then a machine comes back, then a person ends draining. */
const nearest: readonly Obstacle[] = ["full", "unreachable", "draining"];

const ordered = (one: string, other: string): number => (one < other ? -1 : one > other ? 1 : 0);

/** The order by load, as a share of the cap where there is one; then by name. */
function byLoad(one: Machine, other: Machine): number {
  const load = one.runs * (other.caps.runs ?? 1) - other.runs * (one.caps.runs ?? 1);
  return load || ordered(one.name, other.name);
}

/** Where a task that requires these labels would run now. */
export function fitOf(required: readonly string[], machines: readonly Machine[]): Fit {
  if (required.length === 0) return { kind: "here" };
  const labelled = machines.filter((machine) => hasLabels(machine, required));
  const machine = labelled.filter((each) => obstacleOf(each) === null).toSorted(byLoad)[0];
  if (machine) return { kind: "fits", machine };
  for (const obstacle of nearest) {
    const held = labelled.filter((each) => obstacleOf(each) === obstacle);
    if (held.length > 0) return { kind: "held", obstacle, machines: held };
  }
  return { kind: "none" };
}

/** The machine that a worktree is on; null for this computer, and for one that is gone. */
export const machineOf = (workspace: Workspace | null): string | null =>
  workspace !== null && workspace.status !== "cleaned" ? (workspace.machine_id ?? null) : null;

/** Where a task's worktree is, as a filter names it; null without a worktree. */
export const placeOf = ({ workspace }: Pick<Task, "workspace">): string | null =>
  workspace === null || workspace.status === "cleaned"
    ? null
    : (workspace.machine_id ?? thisComputer);

/** The labels that an agent's profile requires; null leaves them to the project. */
export function machinesOf(agent: Agent | undefined): readonly string[] | null {
  const { machines } = (agent?.config ?? {}) as { machines?: readonly string[] | null };
  return machines ?? null;
}

/** Labels as they are typed, between commas or line ends, each once. */
export const labelsFrom = (text: string): string[] => [
  ...new Set(
    text
      .split(/[\n,]/)
      .map((label) => label.trim())
      .filter((label) => label !== ""),
  ),
];

/** The labels that are in use, and the names of the machines. */
export function knownLabels(machines: readonly Machine[]): {
  readonly labels: readonly string[];
  readonly names: readonly string[];
} {
  return {
    labels: [...new Set(machines.flatMap(({ labels }) => labels))].toSorted(ordered),
    names: machines.map(({ name }) => name).toSorted(ordered),
  };
}

/** A moment as people read it. */
export const momentText = (at: string, locale?: string): string =>
  new Date(at).toLocaleString(locale, { dateStyle: "medium", timeStyle: "short" });
