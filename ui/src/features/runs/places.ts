/** Which machine a run is on, and which runs a chosen machine has. Pure. */
import type { RunInfo, Workspace } from "#ui/api/generated.ts";
import { machineOf, thisComputer } from "#ui/domain/machines/machines.ts";

/** A run's machine by its id, or this computer. */
export type PlaceOf = (run: RunInfo) => string;

/** A task's programs run where its worktree is. */
export function placesOf(workspaces: readonly Workspace[]): PlaceOf {
  const places = new Map(
    workspaces.flatMap((workspace) => {
      const machine = machineOf(workspace);
      return machine === null ? [] : [[workspace.task_id, machine] as const];
    }),
  );
  return ({ task_id: task }) => (task === null ? undefined : places.get(task)) ?? thisComputer;
}

/** The runs of the chosen machine; all of them without one. */
export const runsAt = (
  runs: readonly RunInfo[],
  place: PlaceOf,
  chosen: string | null,
): readonly RunInfo[] => (chosen === null ? runs : runs.filter((run) => place(run) === chosen));
