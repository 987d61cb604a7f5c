/**
 * What was said to an agent at work and waits for the end of its run. The engine keeps the messages
 * and tells how many wait; their words are remembered here, for as long as the window is open.
 */
import { useStore } from "zustand";
import { createStore } from "zustand/vanilla";
import type { Transition } from "#ui/api/generated.ts";

const said = createStore<ReadonlyMap<string, readonly string[]>>(() => new Map());

export function rememberSaid(task: string, text: string): void {
  said.setState((state) => new Map(state).set(task, [...(state.get(task) ?? []), text]), true);
}

const none: readonly string[] = [];

export function useSaid(task: string): readonly string[] {
  return useStore(said, (state) => state.get(task) ?? none);
}

/** How many messages wait. */
export function waitingMessages(transitions: readonly Transition[]): number {
  return transitions
    .flatMap(({ steps }) => steps)
    .filter(({ action, status }) => action === "follow_up" && status !== "done").length;
}

/** The words of those that wait, the last said last; null for one said elsewhere. */
export function queuedTexts(count: number, texts: readonly string[]): readonly (string | null)[] {
  const known = count > 0 ? texts.slice(-count) : [];
  return [...Array.from({ length: count - known.length }, () => null), ...known];
}
