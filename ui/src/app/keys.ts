/**
 * Every action of the product is a command: named, grouped, found in the palette, and bound to
 * keys. This module holds the registry and the one keyboard listener.
 *
 * Invariants: an id is registered once at a time; keys typed into a text box run a command only
 * when they carry a modifier or are Escape; a sequence ("g b") waits one second for its next
 * stroke. Deliberately absent: what commands do.
 */
import { useEffect } from "react";
import { createStore } from "zustand/vanilla";
import { useStore } from "zustand";
import { matches, parseKeys, type Strokes } from "#ui/components/combo.ts";

export interface Command {
  readonly id: string;
  /** Already translated. */
  readonly label: string;
  readonly group: string;
  /** The first is shown; all work. */
  readonly keys?: readonly string[];
  readonly keywords?: string;
  readonly icon?: React.ReactNode;
  /** False hides it from the palette and lets its keys pass. */
  readonly enabled?: boolean;
  /** True leaves its keys to a field that is typed in, though they carry a modifier. */
  readonly sparesTyping?: boolean;
  readonly run: () => void;
}

interface Registry {
  readonly commands: ReadonlyMap<string, Command>;
}

export const commandStore = createStore<Registry>(() => ({ commands: new Map() }));

/** Adds commands until the answer is called. A later registration of an id stands in front. */
export function registerCommands(commands: readonly Command[]): () => void {
  commandStore.setState(({ commands: known }) => {
    const next = new Map(known);
    for (const command of commands) next.set(command.id, command);
    return { commands: next };
  });
  return () => {
    commandStore.setState(({ commands: known }) => {
      const next = new Map(known);
      for (const command of commands) {
        if (next.get(command.id) === command) next.delete(command.id);
      }
      return { commands: next };
    });
  };
}

/** Commands that exist while a component is mounted. The list must be stable (memoised). */
export function useCommands(commands: readonly Command[]): void {
  useEffect(() => registerCommands(commands), [commands]);
}

export function useCommandList(): readonly Command[] {
  const commands = useStore(commandStore, (state) => state.commands);
  return [...commands.values()].filter((command) => command.enabled !== false);
}

/** Commands by their group, both in the order of registration. */
export function byGroup(commands: readonly Command[]): ReadonlyMap<string, readonly Command[]> {
  const groups = new Map<string, Command[]>();
  for (const command of commands) {
    const members = groups.get(command.group);
    if (members) members.push(command);
    else groups.set(command.group, [command]);
  }
  return groups;
}

export function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target.isContentEditable || target instanceof HTMLTextAreaElement) return true;
  const silent = ["checkbox", "radio", "button", "range", "submit", "reset"];
  return target instanceof HTMLInputElement && !silent.includes(target.type);
}

/** Enter and Space press the control that has the focus; no command may take that away. */
function isPress(event: KeyboardEvent): boolean {
  const pressing = event.key === "Enter" || event.key === " ";
  if (!pressing || event.ctrlKey || event.metaKey || event.altKey) return false;
  return (
    event.target instanceof HTMLElement &&
    event.target.closest(
      "button, a[href], summary, input, select, [role=button], [role=link], [role=tab], [role=checkbox], [role=switch]",
    ) !== null
  );
}

/** A dialog or an open menu owns the keyboard: single keys do not reach through it. */
function isCaptured(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement &&
    target.closest("[role=dialog], [role=alertdialog], [role=menu], [role=listbox]") !== null
  );
}

const sequenceWait = 1_000;

/** Makes a listener with its own memory of strokes; `now` is in milliseconds. */
export function createKeyListener(commands: () => Iterable<Command>, now: () => number) {
  let typed: { strokes: Strokes; at: number } = { strokes: [], at: 0 };

  return (event: KeyboardEvent): void => {
    if (event.defaultPrevented || event.isComposing) return;
    if (["Control", "Shift", "Alt", "Meta"].includes(event.key) || isPress(event)) return;
    const held = event.ctrlKey || event.metaKey;
    const busy = isTyping(event.target) || isCaptured(event.target);
    if (busy && !held && (event.key !== "Escape" || isCaptured(event.target))) return;

    const position = now() - typed.at < sequenceWait ? typed.strokes.length : 0;
    const before = position > 0 ? typed.strokes : [];
    typed = { strokes: [], at: 0 };
    for (const start of position > 0 ? [before, []] : [[]]) {
      for (const command of commands()) {
        if (command.enabled === false || (busy && command.sparesTyping)) continue;
        for (const keys of command.keys ?? []) {
          const strokes = parseKeys(keys);
          const here = strokes[start.length];
          if (!here || !matches(here, event)) continue;
          if (start.some((stroke, at) => !sameStroke(stroke, strokes[at]))) continue;
          event.preventDefault();
          if (strokes.length === start.length + 1) command.run();
          else typed = { strokes: strokes.slice(0, start.length + 1), at: now() };
          return;
        }
      }
    }
  };
}

function sameStroke(one: Strokes[number], other: Strokes[number] | undefined): boolean {
  return (
    other !== undefined &&
    one.key === other.key &&
    one.mod === other.mod &&
    one.shift === other.shift &&
    one.alt === other.alt
  );
}

/** Listens for the whole page; called once. */
export function installKeys(target: Window): () => void {
  const listener = createKeyListener(
    () => commandStore.getState().commands.values(),
    () => performance.now(),
  );
  target.addEventListener("keydown", listener);
  return () => target.removeEventListener("keydown", listener);
}
