/** The states of a project's workflow that imported tasks can begin in; the engine's choice first. */
import { useOp } from "#ui/api/client.ts";
import type { State } from "#ui/api/generated.ts";

export function useStartStates(projectId: string): readonly State[] {
  const states = useOp("project_workflow_get", { project_id: projectId }).data?.workflow.states;
  return ["backlog", "initial"].flatMap(
    (kind) => states?.filter((state) => state.kind === kind) ?? [],
  );
}
