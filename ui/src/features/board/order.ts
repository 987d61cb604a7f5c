/**
 * Where a card is put, and where it is shown until the engine has said so. Pure.
 *
 * A slot is a place between the shown cards of a column: 0 is above the first, n below the last.
 * Cards that are being moved still stand in the list; a slot right above or below them leaves
 * them where they are.
 */
import type { Task } from "#ui/api/generated.ts";

export interface Place {
  readonly before_id?: string;
  readonly after_id?: string;
}

/** A move that was asked for and is not answered yet. */
export interface PendingMove {
  readonly task: Task;
  readonly column: string;
  readonly to: string;
  readonly place: Place;
}

interface WithId {
  readonly id: string;
}

/** The slot nearest to a distance from the list's start. */
export function slotAt(
  offset: number,
  count: number,
  sizes: { readonly row: number; readonly gap: number; readonly padding: number },
): number {
  const slot = Math.round((offset - sizes.padding + sizes.gap / 2) / (sizes.row + sizes.gap));
  return Math.min(count, Math.max(0, slot));
}

/** What a card at this slot would stand above and below, the moved ones left out. */
export function placeAt(items: readonly WithId[], slot: number, moved: ReadonlySet<string>): Place {
  const before = items.slice(slot).find(({ id }) => !moved.has(id));
  const after = items.slice(0, slot).findLast(({ id }) => !moved.has(id));
  return {
    ...(before ? { before_id: before.id } : {}),
    ...(after ? { after_id: after.id } : {}),
  };
}

/** The contract takes one neighbour: the one below is meant, unless the card goes to the end. */
export function anchorOf({ before_id, after_id }: Place): Place {
  if (before_id !== undefined) return { before_id };
  return after_id === undefined ? {} : { after_id };
}

/** Whether dropping here leaves everything as it is. */
export function isNoMove(
  items: readonly WithId[],
  slot: number,
  moved: ReadonlySet<string>,
): boolean {
  const at = items.findIndex(({ id }) => moved.has(id));
  if (at < 0) return false;
  const together = items.slice(at, at + moved.size).every(({ id }) => moved.has(id));
  return together && slot >= at && slot <= at + moved.size;
}

/** The next slot up or down that is a different place. */
export function nextSlot(
  items: readonly WithId[],
  slot: number,
  step: 1 | -1,
  moved: ReadonlySet<string>,
): number {
  const here = placeAt(items, slot, moved);
  for (let next = slot + step; next >= 0 && next <= items.length; next += step) {
    const there = placeAt(items, next, moved);
    if (there.before_id !== here.before_id || there.after_id !== here.after_id) return next;
  }
  return slot;
}

/** A column's cards with the moves that are under way already made. */
export function withPending(
  column: string,
  read: readonly Task[],
  pending: ReadonlyMap<string, PendingMove>,
): readonly Task[] {
  const seen = new Set<string>();
  const items = read.filter(({ id }) => {
    if (pending.has(id) || seen.has(id)) return false;
    seen.add(id);
    return true;
  });
  if (items.length === read.length && pending.size === 0) return read;
  for (const move of pending.values()) {
    if (move.column !== column) continue;
    const { before_id, after_id } = move.place;
    const above = items.findIndex(({ id }) => id === before_id);
    const below = items.findIndex(({ id }) => id === after_id);
    const at = above >= 0 ? above : below >= 0 ? below + 1 : items.length;
    items.splice(at, 0, { ...move.task, status: move.to });
  }
  return items;
}

export interface KeyboardColumn {
  readonly name: string;
  readonly items: readonly WithId[];
  /** Whether the lifted cards may go there. */
  readonly open: boolean;
}

export interface Target {
  readonly column: string;
  readonly slot: number;
}

export type DragKey = "ArrowUp" | "ArrowDown" | "ArrowLeft" | "ArrowRight" | "Home" | "End";

/** Where lifted cards go at a key: a slot up or down, or the same height in the next open column. */
export function keyboardStep(
  columns: readonly KeyboardColumn[],
  target: Target,
  key: DragKey,
  moved: ReadonlySet<string>,
): Target {
  const at = columns.findIndex(({ name }) => name === target.column);
  const column = columns[at];
  if (!column) return target;
  switch (key) {
    case "ArrowUp":
    case "ArrowDown": {
      const step = key === "ArrowUp" ? -1 : 1;
      return { ...target, slot: nextSlot(column.items, target.slot, step, moved) };
    }
    case "Home":
      return { ...target, slot: 0 };
    case "End":
      return { ...target, slot: column.items.length };
    case "ArrowLeft":
    case "ArrowRight": {
      const side = key === "ArrowLeft" ? columns.slice(0, at).toReversed() : columns.slice(at + 1);
      const next = side.find(({ open }) => open);
      return next ? { column: next.name, slot: Math.min(target.slot, next.items.length) } : target;
    }
  }
}

/** The card that an arrow leads to when nothing is lifted. */
export function neighbourCard(
  columns: readonly Pick<KeyboardColumn, "name" | "items">[],
  from: string,
  key: DragKey,
): string | null {
  const at = columns.findIndex(({ items }) => items.some(({ id }) => id === from));
  const column = columns[at];
  if (!column) return columns.find(({ items }) => items.length > 0)?.items[0]?.id ?? null;
  const row = column.items.findIndex(({ id }) => id === from);
  switch (key) {
    case "ArrowUp":
      return column.items[row - 1]?.id ?? null;
    case "ArrowDown":
      return column.items[row + 1]?.id ?? null;
    case "Home":
      return column.items[0]?.id ?? null;
    case "End":
      return column.items.at(-1)?.id ?? null;
    case "ArrowLeft":
    case "ArrowRight": {
      const side = key === "ArrowLeft" ? columns.slice(0, at).toReversed() : columns.slice(at + 1);
      const next = side.find(({ items }) => items.length > 0);
      return next ? (next.items[Math.min(row, next.items.length - 1)]?.id ?? null) : null;
    }
  }
}

/** All cards between two of one column, both included; the second alone when they are apart. */
export function cardsBetween(items: readonly WithId[], one: string, other: string): string[] {
  const from = items.findIndex(({ id }) => id === one);
  const to = items.findIndex(({ id }) => id === other);
  if (from < 0 || to < 0) return [other];
  return items.slice(Math.min(from, to), Math.max(from, to) + 1).map(({ id }) => id);
}
