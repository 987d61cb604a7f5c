/** A project's states by name. */
import { useOp } from "#ui/api/client.ts";
import type { State, WorkflowView } from "#ui/api/generated.ts";

export type KnownState = State & { readonly cancels: boolean };
export type States = ReadonlyMap<string, KnownState>;

const none: States = new Map();
const known = new WeakMap<WorkflowView, States>();

export function statesOf(view: WorkflowView): States {
  let states = known.get(view);
  if (!states) {
    const { workflow } = view;
    states = new Map(
      workflow.states.map((state) => [
        state.name,
        { ...state, cancels: state.name === workflow.cancellation_state },
      ]),
    );
    known.set(view, states);
  }
  return states;
}

export function useStates(project: string | null): States {
  const view = useOp(
    "project_workflow_get",
    { project_id: project ?? "" },
    { enabled: project !== null },
  ).data;
  return view ? statesOf(view) : none;
}
