/**
 * The definition as the editor handles it: the JSON value of the draft, read with care, since a
 * person may have written anything, and changed one place at a time. Pure.
 *
 * Deliberately absent: judging it. The engine does (`workflow_check`).
 */
import type { Hook, State, StateKind, Trigger, Workflow } from "#ui/api/generated.ts";
import { getAt, isTree, moved, setAt, type Path } from "#ui/draft/path.ts";
import { phases, type Phase } from "./registry.ts";

/** What is not said takes its default: a definition reads best without it. */
export function tidy(workflow: Workflow): unknown {
  const optional = new Set(["hooks", "triggers", "config", "retry_budgets", ...phases]);
  const prune = (value: unknown, key: string): unknown => {
    if (Array.isArray(value)) return value.map((item) => prune(item, ""));
    if (!isTree(value)) return value;
    if (key === "params") return value;
    const members = Object.entries(value)
      .map(([name, member]) => [name, prune(member, name)] as const)
      .filter(([name, member]) => {
        if (member === null || member === undefined) return false;
        if (name === "applies_to" && member === "all") return false;
        if (!optional.has(name)) return true;
        return Array.isArray(member) ? member.length > 0 : Object.keys(member).length > 0;
      });
    return Object.fromEntries(members);
  };
  return prune(workflow, "");
}

const isList = (value: unknown, of: (item: unknown) => boolean): boolean =>
  value === undefined || value === null || (Array.isArray(value) && value.every(of));
const isMap = (value: unknown, of: (item: unknown) => boolean): boolean =>
  value === undefined || value === null || (isTree(value) && Object.values(value).every(of));

/**
 * Whether form and graph can show it: the branches are branches. Its leaves may be anything; they
 * are read as text.
 */
export function isDrawable(value: unknown): value is Workflow {
  return (
    isTree(value) &&
    Array.isArray(value["states"]) &&
    isList(value["roles"], isTree) &&
    value["states"].every(
      (state) =>
        isTree(state) &&
        isMap(state["triggers"], isTree) &&
        isMap(state["hooks"], (hooks) => isList(hooks, isTree)) &&
        (state["gate_config"] === undefined ||
          state["gate_config"] === null ||
          isTree(state["gate_config"])),
    )
  );
}

export const text = (value: unknown): string =>
  typeof value === "string"
    ? value
    : value === undefined || value === null
      ? ""
      : JSON.stringify(value);
export const number = (value: unknown): number | null => (typeof value === "number" ? value : null);

export const titleOf = (state: State): string => text(state.display_name) || text(state.name);
export const triggersOf = (state: State): readonly (readonly [string, Trigger])[] =>
  Object.entries(state.triggers ?? {});
export const hooksOf = (state: State, phase: Phase): readonly Hook[] => state.hooks?.[phase] ?? [];
export const statePath = (index: number): Path => ["states", index];

/** A name that the engine takes and that no state has. */
export function freeName(workflow: Workflow, title: string): string {
  const plain =
    title
      .normalize("NFKD")
      .toLowerCase()
      .replaceAll(/[^a-z0-9]+/g, "_")
      .replaceAll(/^_+|_+$/g, "") || "state";
  const taken = new Set(workflow.states.map(({ name }) => text(name)));
  if (!taken.has(plain)) return plain;
  let each = 2;
  while (taken.has(`${plain}_${each}`)) each += 1;
  return `${plain}_${each}`;
}

export function columnsOf(workflow: Workflow): string[] {
  return [...new Set(workflow.states.map(({ column }) => text(column)))];
}

/** A trigger's name that the state does not have yet. */
export function freeTrigger(state: State): string {
  const taken = new Set(Object.keys(state.triggers ?? {}));
  const known = ["accept", "reject", "retry"].find((name) => !taken.has(name));
  if (known) return known;
  let each = 1;
  while (taken.has(`move_${each}`)) each += 1;
  return `move_${each}`;
}

export interface NewState {
  readonly title: string;
  readonly kind: StateKind;
  readonly column: string;
  readonly role?: string | null;
  /** States that lead to it, and the one it leads to. */
  readonly from?: string | null;
  readonly to?: string | null;
}

/**
 * Adds a state after the one it comes from. Where that one's way forward is the one the new state
 * takes over, the state is put in between; else it gets a way of its own.
 */
export function addState(
  workflow: Workflow,
  state: NewState,
): { workflow: Workflow; name: string } {
  const name = freeName(workflow, state.title);
  const from = workflow.states.findIndex((each) => each.name === state.from);
  const source = workflow.states[from];
  const forward = source?.triggers?.["accept"];
  const works = state.role && state.kind === "active";
  const added: State = {
    name,
    display_name: state.title.trim(),
    kind: state.kind,
    column: state.column.trim() || state.title.trim(),
    ...(state.role ? { role: state.role } : {}),
    // Nobody but a person decides at a gate that was just added.
    ...(state.kind === "gate"
      ? { gate_config: { reject_target: state.from ?? name, requires_user_approval: true } }
      : {}),
    ...(works
      ? {
          hooks: {
            before_enter: [{ action: "run_before_work_hooks" as const }],
            on_enter: [{ action: "dispatch_role_agent" as const }],
          },
        }
      : {}),
    triggers: {
      ...(state.to ? { accept: { to: state.to } } : {}),
      ...(state.kind === "gate" && state.from ? { reject: { to: state.from } } : {}),
    },
  };
  const states = [...workflow.states];
  const end = states.findIndex(({ kind }) => kind === "blocked" || kind === "terminal");
  states.splice(from >= 0 ? from + 1 : end >= 0 ? end : states.length, 0, added);
  const next = { ...workflow, states };
  if (!source) return { workflow: next, name };
  const trigger = forward && forward.to === state.to ? "accept" : freeTrigger(source);
  return {
    name,
    workflow: setAt(next, ["states", from, "triggers", trigger], { to: name }) as Workflow,
  };
}

/** A state of another kind. Only a gate decides, so a state that becomes none keeps no rules of a gate. */
export function changeKind(workflow: Workflow, index: number, kind: State["kind"]): Workflow {
  const states = workflow.states.map((state, at): State => {
    if (at !== index) return state;
    const { gate_config, ...rest } = state;
    return kind === "gate" && gate_config ? { ...rest, gate_config, kind } : { ...rest, kind };
  });
  return { ...workflow, states };
}

type Rename = (name: string) => string | undefined;

/** Every place that names a state, with another name; `undefined` takes the reference away. */
function mapReferences(workflow: Workflow, rename: Rename): Workflow {
  const states = workflow.states.map((state): State => {
    let next = state;
    if (state.triggers) {
      const triggers = triggersOf(state).flatMap(([trigger, target]) => {
        const to = rename(text(target.to));
        return to === undefined ? [] : [[trigger, { ...target, to }] as const];
      });
      next = { ...next, triggers: Object.fromEntries(triggers) };
    }
    const gate = state.gate_config;
    if (gate && typeof gate.reject_target === "string") {
      const { reject_target, ...rest } = gate;
      const to = rename(reject_target);
      next = { ...next, gate_config: to === undefined ? rest : { ...gate, reject_target: to } };
    }
    if (state.hooks) {
      const hooks = Object.entries(state.hooks).map(([phase, list]) => [
        phase,
        (list ?? []).map((hook) => {
          const policy = hook.on_failure;
          if (!isTree(policy) || typeof policy["cascade"] !== "string") return hook;
          const to = rename(policy["cascade"]);
          const { on_failure: _, ...rest } = hook;
          return to === undefined ? rest : { ...rest, on_failure: { cascade: to } };
        }),
      ]);
      next = { ...next, hooks: Object.fromEntries(hooks) };
    }
    return next;
  });
  const { cancellation_state, ...rest } = workflow;
  const cancels = rename(text(cancellation_state));
  return {
    ...rest,
    ...(cancels === undefined ? {} : { cancellation_state: cancels }),
    states,
  } as Workflow;
}

export function renameState(workflow: Workflow, index: number, name: string): Workflow {
  const old = text(workflow.states[index]?.name);
  const shared = workflow.states.some((state, at) => at !== index && state.name === old);
  // Two states of one name are a mistake being mended: what names them stays with the other.
  const renamed =
    shared || old === ""
      ? workflow
      : mapReferences(workflow, (each) => (each === old ? name : each));
  return setAt(renamed, [...statePath(index), "name"], name) as Workflow;
}

/** The state goes, and every way to it. */
export function removeState(workflow: Workflow, index: number): Workflow {
  const old = text(workflow.states[index]?.name);
  const without = { ...workflow, states: workflow.states.filter((_, at) => at !== index) };
  if (without.states.some(({ name }) => name === old)) return without;
  return mapReferences(without, (each) => (each === old ? undefined : each));
}

export function moveState(workflow: Workflow, index: number, to: number): Workflow {
  return { ...workflow, states: moved(workflow.states, index, to) };
}

export function renameTrigger(workflow: Workflow, path: Path, name: string): Workflow {
  const owner = path.slice(0, -1);
  const triggers = getAt(workflow, owner);
  const old = path.at(-1);
  if (!isTree(triggers) || name === old) return workflow;
  // In its place: the order of triggers is the order they are read in.
  const entries = Object.entries(triggers).map(([key, value]) => [key === old ? name : key, value]);
  return setAt(workflow, owner, Object.fromEntries(entries)) as Workflow;
}

export interface Difference {
  readonly added: readonly string[];
  readonly removed: readonly string[];
  readonly changed: readonly string[];
}

/** What a definition has that another lacks, by the states' own words. */
export function differenceOf(from: Workflow, to: Workflow): Difference {
  const inOne = new Map(from.states.map((state) => [text(state.name), state]));
  const inOther = new Set(to.states.map((state) => text(state.name)));
  return {
    added: to.states.filter(({ name }) => !inOne.has(text(name))).map(titleOf),
    removed: from.states.filter(({ name }) => !inOther.has(text(name))).map(titleOf),
    changed: to.states
      .filter((state) => {
        const known = inOne.get(text(state.name));
        return known !== undefined && canonical(known) !== canonical(state);
      })
      .map(titleOf),
  };
}

/** The same text for the same value, whatever the order of its keys. */
export function canonical(value: unknown): string {
  return JSON.stringify(value, (_, each: unknown) =>
    isTree(each)
      ? Object.fromEntries(Object.entries(each).sort(([one], [other]) => (one < other ? -1 : 1)))
      : each,
  );
}
