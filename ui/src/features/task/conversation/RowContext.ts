/** What the rows of a conversation share. What is unfolded outlives the scrolled-away row. */
import { createContext, use, useCallback } from "react";
import { useStore } from "zustand";
import { createStore, type StoreApi } from "zustand/vanilla";
import type { Approval } from "#ui/api/generated.ts";

export type Unfolded = StoreApi<ReadonlyMap<string, boolean>>;

export const createUnfolded = (): Unfolded =>
  createStore<ReadonlyMap<string, boolean>>(() => new Map());

export interface RowSurroundings {
  readonly taskId: string;
  readonly unfolded: Unfolded;
  /** What agents asked for the task, answered or not. */
  readonly approvals: readonly Approval[];
  /** Names of agents by their ids. */
  readonly names: ReadonlyMap<string, string>;
  readonly onLink: (href: string) => void;
}

export const RowContext = createContext<RowSurroundings | null>(null);

export function useRowSurroundings(): RowSurroundings {
  const surroundings = use(RowContext);
  if (!surroundings) throw new Error("failed to draw a log row: no conversation around it");
  return surroundings;
}

export function useUnfolded(key: string, byDefault = false): readonly [boolean, () => void] {
  const { unfolded } = useRowSurroundings();
  const open = useStore(unfolded, (state) => state.get(key) ?? byDefault);
  const toggle = useCallback(() => {
    unfolded.setState((state) => new Map(state).set(key, !(state.get(key) ?? byDefault)), true);
  }, [unfolded, key, byDefault]);
  return [open, toggle];
}

/** The parts of a row are in sight until they are put away; kept beside what is unfolded. */
const partsKey = (key: string): string => `parts:${key}`;

export function useParts(key: string): readonly [boolean, () => void] {
  return useUnfolded(partsKey(key), true);
}

/** The rows whose parts are put away. */
export function closedParts(unfolded: ReadonlyMap<string, boolean>): ReadonlySet<string> {
  const closed = new Set<string>();
  for (const [key, open] of unfolded) {
    if (!open && key.startsWith("parts:")) closed.add(key.slice("parts:".length));
  }
  return closed;
}
