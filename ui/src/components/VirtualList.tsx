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
import { stickToEnd, type StickyEnd } from "./stickyEnd.ts";
import styles from "./VirtualList.module.css";

export interface VirtualListHandle {
  scrollToIndex(index: number, align?: "auto" | "start" | "center" | "end"): void;
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
  /** The row height in pixels; rows of unequal height are measured when `measured` is set. */
  readonly rowHeight: number;
  readonly measured?: boolean;
  readonly gap?: number;
  /** Space before the first and after the last row. */
  readonly padding?: number;
  readonly overscan?: number;
  readonly label: string;
  /** What the list and its rows are to assistive technology. */
  readonly role?: "list" | "listbox" | "log";
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
  rowHeight,
  measured = false,
  gap = 0,
  padding = 0,
  overscan = 6,
  label,
  role = "list",
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
  const scroller = useRef<HTMLDivElement>(null);
  // Another function means other keys to the virtualiser, which then walks over all items.
  const getItemKey = useCallback(
    (index: number) => keyOf(items[index] as Item, index),
    // oxlint-disable-next-line react-hooks/exhaustive-deps
    [items, rowHeight],
  );
  const virtualizer = useVirtualizer({
    count: items.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    getItemKey,
    gap,
    paddingStart: padding,
    paddingEnd: padding,
    overscan,
    ...(fromEnd ? { anchorTo: "end" as const } : {}),
    rangeExtractor: (range) => {
      const first = Math.max(0, range.startIndex - range.overscan);
      const last = Math.min(range.count - 1, range.endIndex + range.overscan);
      const shown = Array.from({ length: last - first + 1 }, (_, at) => first + at);
      const kept = keepMounted;
      if (kept === undefined || kept < 0 || kept >= range.count) return shown;
      if (kept >= first && kept <= last) return shown;
      return [...shown, kept].sort((one, other) => one - other);
    },
  });

  useImperativeHandle(handle, () => ({
    scrollToIndex: (index, align = "auto") => virtualizer.scrollToIndex(index, { align }),
    scrollToEnd: () => end.current?.stick(),
    indexAt: (offset) => virtualizer.getVirtualItemForOffset(offset)?.index ?? 0,
    get element() {
      return scroller.current;
    },
  }));

  const rows = virtualizer.getVirtualItems();
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
      aria-label={label}
      // A scrolling region must be reachable by keyboard.
      // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
      tabIndex={0}
    >
      <div className={styles.space} role="presentation" style={{ height: total }}>
        {rows.map((row) => (
          <div
            key={row.key}
            ref={measured ? virtualizer.measureElement : null}
            data-index={row.index}
            className={styles.row}
            role={role === "list" ? "listitem" : "presentation"}
            {...(role === "list"
              ? { "aria-setsize": items.length, "aria-posinset": row.index + 1 }
              : {})}
            style={{
              transform: `translateY(${row.start}px)`,
              ...(measured ? {} : { height: rowHeight }),
            }}
          >
            {children(items[row.index] as Item, row.index)}
          </div>
        ))}
      </div>
    </div>
  );
}
