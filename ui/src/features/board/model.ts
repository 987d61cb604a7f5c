/**
 * What the board itself knows: focus, selection, what is being dragged, moves under way. The tasks
 * are the engine's and live in the query cache; columns publish here which of them they show, so
 * that arrows, drops and ranges can be reckoned without a second copy.
 */
import { createContext, use } from "react";
import { useStore } from "zustand";
import { createStore, type StoreApi } from "zustand/vanilla";
import type { ApiError } from "#ui/api/error.ts";
import type { Column, Task, WorkflowView } from "#ui/api/generated.ts";
import type { VirtualListHandle } from "#ui/components/VirtualList.tsx";
import type { Recovery, RecoveryVerb } from "#ui/domain/recovery.ts";
import type { PendingMove, Place, Target } from "./order.ts";
import type { Refusal } from "./rules.ts";

export interface Drag {
  readonly mode: "pointer" | "keyboard";
  readonly tasks: readonly Task[];
  readonly ids: ReadonlySet<string>;
  readonly target: Target | null;
  /** Why the column under the pointer does not take them. */
  readonly refused?: Refusal | null;
}

/** A move that somebody asked for. */
export interface MoveWish {
  readonly tasks: readonly Task[];
  readonly column: string;
  readonly place: Place;
  /** Another state than the column's cards get when they are dropped there. */
  readonly to?: string;
}

export type Pick = "move" | "assign" | "priority" | "unblock" | null;

/** What was asked to be done to blocked tasks, and how far it is. */
export interface Recovering extends Recovery {
  /** How many of them it has been done to; null until the question is answered. */
  readonly done: number | null;
  /** No further task is begun with. */
  readonly isStopped?: boolean;
}

/** A task that something was not done to, and why. */
export interface Refused {
  readonly task: Task;
  readonly error: ApiError;
}

/** What was not done to some tasks. */
export interface Refusals {
  readonly verb: RecoveryVerb;
  readonly tasks: readonly Refused[];
}

export interface BoardState {
  readonly focused: string | null;
  readonly selected: ReadonlySet<string>;
  readonly anchor: string | null;
  readonly drag: Drag | null;
  readonly pending: ReadonlyMap<string, PendingMove>;
  readonly editing: string | null;
  /** Waits for an answer, since it stops an agent or checks, or leaves work behind. */
  readonly asking: MoveWish | null;
  readonly picking: Pick;
  /** Closed tasks that are deleted once that is confirmed. */
  readonly deleting: readonly Task[];
  readonly recovering: Recovering | null;
  readonly refused: Refusals | null;
  /** Raised with each change of the cards that columns show, which are not in this state themselves. */
  readonly revision: number;
  readonly announcement: string;
}

export interface ShownColumn {
  readonly column: Column;
  readonly items: readonly Task[];
  /** Whether a place between cards can be chosen; not when cards are grouped. */
  readonly ordered: boolean;
  readonly list: VirtualListHandle | null;
  readonly element: HTMLElement | null;
}

export interface BoardModel {
  readonly projectId: string;
  readonly state: StoreApi<BoardState>;
  /** In board order. */
  readonly shown: () => readonly ShownColumn[];
  publish(column: ShownColumn): void;
  withdraw(name: string): void;
  setView(view: WorkflowView, order: readonly string[]): void;
  readonly view: () => WorkflowView | null;
  find(id: string): { readonly task: Task; readonly column: ShownColumn } | null;
  /** Brings a card into sight. */
  reveal(id: string): void;
  /** Brings a card into sight and gives it the focus. */
  focusCard(id: string): void;
  /** The selected tasks, else the focused one. */
  chosen(): readonly Task[];
}

const emptySet: ReadonlySet<string> = new Set();

export function createBoardModel(projectId: string): BoardModel {
  const columns = new Map<string, ShownColumn>();
  let view: WorkflowView | null = null;
  let order: readonly string[] = [];
  const state = createStore<BoardState>(() => ({
    focused: null,
    selected: emptySet,
    anchor: null,
    drag: null,
    pending: new Map(),
    editing: null,
    asking: null,
    picking: null,
    deleting: [],
    recovering: null,
    refused: null,
    revision: 0,
    announcement: "",
  }));
  const shown = () => order.flatMap((name) => columns.get(name) ?? []);
  const find = (id: string) => {
    for (const column of columns.values()) {
      const task = column.items.find((item) => item.id === id);
      if (task) return { task, column };
    }
    return null;
  };
  const reveal = (id: string) => {
    const place = find(id);
    if (!place) return;
    place.column.element?.scrollIntoView({ inline: "nearest", block: "nearest" });
    place.column.list?.scrollToIndex(place.column.items.indexOf(place.task));
  };
  return {
    projectId,
    reveal,
    state,
    shown,
    find,
    view: () => view,
    publish(column) {
      columns.set(column.column.name, column);
      state.setState(({ revision }) => ({ revision: revision + 1 }));
      const first = column.items[0];
      if (first && state.getState().focused === null) state.setState({ focused: first.id });
    },
    withdraw(name) {
      columns.delete(name);
    },
    setView(next, names) {
      view = next;
      order = names;
    },
    focusCard(id) {
      state.setState({ focused: id });
      if (!find(id)) return;
      reveal(id);
      const give = (tries: number) => {
        // The next key may already have led on.
        if (state.getState().focused !== id) return;
        const cards = document.querySelectorAll<HTMLElement>("[data-task]");
        const card = [...cards].find((each) => each.dataset["task"] === id);
        if (card) card.focus({ preventScroll: true });
        // It may first have to be scrolled into being.
        else if (tries > 0) requestAnimationFrame(() => give(tries - 1));
      };
      requestAnimationFrame(() => give(3));
    },
    chosen() {
      const { selected, focused } = state.getState();
      const ids = selected.size > 0 ? selected : new Set(focused === null ? [] : [focused]);
      return shown().flatMap(({ items }) => items.filter(({ id }) => ids.has(id)));
    },
  };
}

const Context = createContext<BoardModel | null>(null);
export const BoardModelProvider = Context;

export function useBoardModel(): BoardModel {
  const model = use(Context);
  if (!model) throw new Error("failed to find the board: no BoardModelProvider above");
  return model;
}

export function useBoard<Value>(select: (state: BoardState) => Value): Value {
  return useStore(useBoardModel().state, select);
}

export function announce(model: BoardModel, announcement: string): void {
  model.state.setState({ announcement });
}

export function clearSelection(model: BoardModel): void {
  if (model.state.getState().selected.size > 0) {
    model.state.setState({ selected: emptySet, anchor: null });
  }
}
