/** Puts a windowed list back to what was in sight whenever its rows are others. */
import { useLayoutEffect, useRef } from "react";
import { heldAt, type Held, type PlacedRow } from "./keepInSight.ts";

/** What is asked of the virtualiser, and of the rows that it shows. */
interface Windowed {
  readonly scrollElement: Element | null;
  readonly scrollOffset: number | null;
  readonly measurementsCache: readonly { readonly start: number }[];
  scrollToOffset(offset: number): void;
}

interface Shown {
  readonly key: unknown;
  readonly start: number;
  readonly end: number;
}

export function useHeldInSight<Item>(
  enabled: boolean,
  virtualizer: Windowed,
  items: readonly Item[],
  keyOf: (item: Item, index: number) => string,
  rows: readonly Shown[],
): void {
  "use no memo";
  const before = useRef<readonly PlacedRow[]>([]);
  // Where the list was put is only told by an event: until then this is what is in sight.
  const held = useRef<Held | null>(null);
  const put = useRef(0);
  useLayoutEffect(() => {
    const box = virtualizer.scrollElement;
    if (!enabled || !box || before.current.length === 0) return;
    const startOf = (key: string) => {
      const index = items.findIndex((item, at) => keyOf(item, at) === key);
      return index < 0 ? undefined : virtualizer.measurementsCache[index]?.start;
    };
    const offset = virtualizer.scrollOffset ?? 0;
    const kept = held.current;
    // Somebody else led the list elsewhere just now: that is what is to be in sight.
    if (Math.abs(box.scrollTop - (kept ? put.current : offset)) >= 1) {
      held.current = null;
      return;
    }
    const next =
      kept && startOf(kept.key) !== undefined ? kept : heldAt(before.current, offset, startOf);
    const start = next && startOf(next.key);
    if (!next || start === undefined || start === null) return;
    const place = Math.max(0, start + next.below);
    if (Math.abs(place - box.scrollTop) < 1) return;
    held.current = next;
    virtualizer.scrollToOffset(place);
    put.current = box.scrollTop;
    // Only other rows move what is in sight; for rows that turn out higher the virtualiser makes up itself.
    // oxlint-disable-next-line react-hooks/exhaustive-deps
  }, [items]);
  useLayoutEffect(() => {
    if (!enabled) return;
    const top = virtualizer.scrollElement?.scrollTop ?? 0;
    if (Math.abs(top - (virtualizer.scrollOffset ?? 0)) >= 1) return;
    held.current = null;
    before.current = rows.map(({ key, start, end }) => ({ key: String(key), start, end }));
  });
}
