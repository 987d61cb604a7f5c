import { useVirtualizer } from "@tanstack/react-virtual";
import {
  useCallback,
  useEffect,
  useImperativeHandle,
  useLayoutEffect,
  useRef,
  type ReactNode,
  type Ref,
} from "react";
import { cx } from "./cx.ts";
import { rowHeight, useRows } from "./rows.ts";
import { useHeldInSight } from "./useHeldInSight.ts";
import { stickToEnd, type StickyEnd } from "./stickyEnd.ts";
import styles from "./VirtualList.module.css";

export interface VirtualListHandle {
  scrollToIndex(index: number, align?: "auto" | "start" | "center" | "end"): void;
  /** Puts a row at the very edge, also where `scrollPadding` keeps others away from it. */
  scrollToStart(index: number): void;
  /** The index whose box holds this distance from the list's start. */
  indexAt(offset: number): number;
  /** To the very end, past whatever is measured on the way. */
  scrollToEnd(): void;
  readonly element: HTMLElement | null;
}

export interface VirtualListProps<Item> {
  readonly items: readonly Item[];
  /** A key comes of the item and its index alone: it is asked for again when the items change. */
  readonly keyOf: (item: Item, index: number) => string;
  /**
   * The row height in pixels at a text size of 100 %, which the list enlarges as the text; rows of unequal height are
   * measured when `measured` is set.
   */
  readonly rowHeight: number;
  /** How much higher each row is on a comfortable page. */
  readonly roomier?: number;
  /** The height of one row where they differ; an estimate for a row that is measured. */
  readonly heightOf?: (item: Item) => number;
  readonly measured?: boolean | ((item: Item) => boolean);
  /** The row that stays at the upper edge while the row of this index is the first in sight. */
  readonly stickyAt?: (first: number) => number | undefined;
  /** Room at the upper edge that rows scrolled to keep free. */
  readonly scrollPadding?: number;
  /** What is in sight stays in its place when rows above it come or go. */
  readonly keepInSight?: boolean;
  /** Called with the first and the last row in sight. */
  readonly onShown?: (first: number, last: number) => void;
  readonly gap?: number;
  /** Space before the first and after the last row. */
  readonly padding?: number;
  readonly overscan?: number;
  readonly label: string;
  /** What the list and its rows are to assistive technology. */
  readonly role?: "list" | "listbox" | "log";
  /** Rows that come into sight are not spoken: nothing new happened. */
  readonly quiet?: boolean;
  /** Stays in the document though scrolled away, e.g. the card being dragged. */
  readonly keepMounted?: number | undefined;
  /**
   * The list is read from its end: it opens there, stays there while rows are added, and keeps
   * what is in sight in its place when rows are added before it.
   */
  readonly fromEnd?: boolean;
  readonly onEndReached?: () => void;
  readonly onStartReached?: (() => void) | undefined;
  /** Whether the end is in sight. */
  readonly onAtEnd?: (atEnd: boolean) => void;
  readonly className?: string;
  readonly handle?: Ref<VirtualListHandle>;
  readonly children: (item: Item, index: number) => ReactNode;
}

/**
 * The one windowed list. Only here is TanStack Virtual called: the compiler must leave its caller
 * alone, since the virtualiser is one object whose answers change.
 */
export function VirtualList<Item>({
  items,
  keyOf,
  rowHeight: drawnHeight,
  roomier = 0,
  heightOf,
  measured = false,
  stickyAt,
  scrollPadding = 0,
  keepInSight = false,
  onShown,
  gap = 0,
  padding = 0,
  overscan = 6,
  label,
  role = "list",
  quiet = false,
  keepMounted,
  fromEnd = false,
  onEndReached,
  onStartReached,
  onAtEnd,
  className,
  handle,
  children,
}: VirtualListProps<Item>) {
  "use no memo";
  const rowLooks = useRows();
  const scroller = useRef<HTMLDivElement>(null);
  // Another function means other keys and heights to the virtualiser, which then walks over all items.
  const getItemKey = useCallback(
    (index: number) => keyOf(items[index] as Item, index),
    // oxlint-disable-next-line react-hooks/exhaustive-deps
    [items, drawnHeight, roomier, rowLooks],
  );
  const virtualizer = useVirtualizer({
    count: items.length,
    getScrollElement: () => scroller.current,
    estimateSize: (index) =>
      rowHeight(rowLooks, heightOf?.(items[index] as Item) ?? drawnHeight, roomier),
    getItemKey,
    gap,
    paddingStart: padding,
    paddingEnd: padding,
    scrollPaddingStart: rowHeight(rowLooks, scrollPadding),
    overscan,
    ...(fromEnd ? { anchorTo: "end" as const } : {}),
    rangeExtractor: (range) => {
      const first = Math.max(0, range.startIndex - range.overscan);
      const last = Math.min(range.count - 1, range.endIndex + range.overscan);
      const shown = Array.from({ length: last - first + 1 }, (_, at) => first + at);
      const apart = [keepMounted, stickyAt?.(range.startIndex)].filter(
        (index): index is number =>
          index !== undefined &&
          index >= 0 &&
          index < range.count &&
          (index < first || index > last),
      );
      if (apart.length === 0) return shown;
      return [...new Set([...shown, ...apart])].sort((one, other) => one - other);
    },
  });
  const isMeasured = (item: Item) => (typeof measured === "function" ? measured(item) : measured);

  useImperativeHandle(handle, () => ({
    scrollToIndex: (index, align = "auto") => virtualizer.scrollToIndex(index, { align }),
    scrollToStart: (index) => {
      const place = virtualizer.measurementsCache[index]?.start;
      if (place !== undefined) virtualizer.scrollToOffset(place);
    },
    scrollToEnd: () => end.current?.stick(),
    indexAt: (offset) => virtualizer.getVirtualItemForOffset(offset)?.index ?? 0,
    get element() {
      return scroller.current;
    },
  }));

  const rows = virtualizer.getVirtualItems();
  const start = virtualizer.range?.startIndex ?? 0;
  const last = virtualizer.range?.endIndex ?? -1;
  const sticky = stickyAt?.(start);
  useEffect(() => {
    if (last >= start && items.length > 0) onShown?.(start, Math.min(last, items.length - 1));
  }, [start, last, items, onShown]);
  useHeldInSight(keepInSight, virtualizer, items, keyOf, rows);
  const lastShown = rows.at(-1)?.index ?? -1;
  useEffect(() => {
    if (items.length > 0 && lastShown >= items.length - 1) onEndReached?.();
  }, [lastShown, items.length, onEndReached]);
  const firstShown = rows[0]?.index ?? -1;
  useEffect(() => {
    if (firstShown === 0) onStartReached?.();
  }, [firstShown, items.length, onStartReached]);

  const total = virtualizer.getTotalSize();
  const end = useRef<StickyEnd | null>(null);
  useEffect(() => {
    const box = scroller.current;
    if (!fromEnd || !box) return undefined;
    const held = stickToEnd(box, (atEnd) => onAtEnd?.(atEnd));
    end.current = held;
    held.keep();
    // A smaller window must not take what is newest out of sight.
    const resized = new ResizeObserver(() => held.keep());
    resized.observe(box);
    return () => {
      resized.disconnect();
      held.drop();
    };
  }, [fromEnd, onAtEnd]);
  useLayoutEffect(() => end.current?.keep(), [total]);

  return (
    <div
      ref={scroller}
      className={cx(styles.scroller, className)}
      role={role}
      {...(quiet ? { "aria-live": "off" as const } : {})}
      aria-label={label}
      // A scrolling region must be reachable by keyboard.
      // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
      tabIndex={0}
    >
      <div className={styles.space} role="presentation" style={{ height: total }}>
        {rows.map((row) => (
          <div
            key={row.key}
            ref={isMeasured(items[row.index] as Item) ? virtualizer.measureElement : null}
            data-index={row.index}
            className={styles.row}
            data-sticky={row.index === sticky || undefined}
            role={role === "list" ? "listitem" : "presentation"}
            {...(role === "list"
              ? { "aria-setsize": items.length, "aria-posinset": row.index + 1 }
              : {})}
            style={{
              ...(row.index === sticky ? {} : { transform: `translateY(${row.start}px)` }),
              ...(isMeasured(items[row.index] as Item) ? {} : { height: row.size }),
            }}
          >
            {children(items[row.index] as Item, row.index)}
          </div>
        ))}
      </div>
    </div>
  );
}
