/** Which machine a run is on, and which runs a chosen machine has. Pure. */
import type { RunInfo } from "#ui/api/generated.ts";
import { thisComputer } from "#ui/domain/machines/machines.ts";

/** A run's machine by its id, or this computer. */
export const placeOf = ({ machine_id: machine }: RunInfo): string => machine ?? thisComputer;

/** The runs of the chosen machine; all of them without one. */
export const runsAt = (runs: readonly RunInfo[], chosen: string | null): readonly RunInfo[] =>
  chosen === null ? runs : runs.filter((run) => placeOf(run) === chosen);
