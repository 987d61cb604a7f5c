/** A diff of any size as plain rows: no colours of syntax, one column, nothing off the screen. */
import { Plus } from "lucide-react";
import { useImperativeHandle, useMemo, useRef, type PointerEvent, type Ref } from "react";
import { useTranslation } from "react-i18next";
import { VirtualList, type VirtualListHandle } from "#ui/components/VirtualList.tsx";
import { whole } from "../numbers.ts";
import { at, firstOf, lastOf, type Cursor } from "./cursor.ts";
import { longLine, type DiffRow } from "./hunks.ts";
import { Thread } from "./Thread.tsx";
import { useLeading } from "./useLeading.ts";
import type { Anchor, Commenting, DiffViewHandle } from "./view.ts";
import layout from "#ui/components/layout.module.css";
import styles from "./PlainDiff.module.css";

export interface PlainDiffProps {
  readonly rows: readonly DiffRow[];
  readonly columns: number;
  readonly label: string;
  readonly commenting: Commenting;
  readonly onEndReached: (() => void) | undefined;
  readonly handle: Ref<DiffViewHandle>;
}

type Item = DiffRow | { readonly type: "notes"; readonly key: string } | { readonly type: "top" };

/** Rows with what stands between them. */
function withNotes(
  rows: readonly DiffRow[],
  anchors: readonly Anchor[],
  hasTop: boolean,
): readonly Item[] {
  if (anchors.length === 0 && !hasTop) return rows;
  const items: Item[] = hasTop ? [{ type: "top" }] : [];
  const byRow = new Map<number, Anchor[]>();
  for (const anchor of anchors) byRow.set(anchor.row, [...(byRow.get(anchor.row) ?? []), anchor]);
  for (const [row, each] of rows.entries()) {
    items.push(each);
    for (const { key } of byRow.get(row) ?? []) items.push({ type: "notes", key });
  }
  return items;
}

/** How many items that are no rows stand before a row. */
function before(row: number, anchors: readonly Anchor[], hasTop: boolean): number {
  return (hasTop ? 1 : 0) + anchors.filter((anchor) => anchor.row < row).length;
}

/** The row that an item shows, given that it shows one. */
function rowAt(item: number, anchors: readonly Anchor[], hasTop: boolean): number {
  let row = item - (hasTop ? 1 : 0);
  for (const anchor of anchors) if (anchor.row < row) row -= 1;
  return row;
}

function Line({
  row,
  number,
  selected,
  canComment,
}: {
  row: DiffRow;
  number: number;
  selected: boolean;
  canComment: boolean;
}) {
  const { t } = useTranslation();
  if (row.type === "gap") {
    return (
      <div className={styles.gap}>
        <span className={layout.faint}>{`@@ -${row.oldNo} +${row.newNo} @@`}</span>
        {row.header}
      </div>
    );
  }
  const { kind, text, old_no: oldNo, new_no: newNo, no_newline: noNewline } = row.line;
  const sign = { context: " ", added: "+", removed: "-" }[kind];
  return (
    <div
      className={styles.line}
      data-kind={kind}
      data-row={number}
      data-selected={selected || undefined}
    >
      <span className={styles.number}>{oldNo}</span>
      <span className={styles.number}>{newNo}</span>
      {canComment && (
        // By keyboard: `c` on the line.
        <button
          type="button"
          className={styles.add}
          tabIndex={-1}
          data-add
          aria-label={t("comments.add", { line: whole(newNo ?? oldNo ?? 0) })}
        >
          <Plus aria-hidden />
        </button>
      )}
      <span className={styles.sign}>{sign}</span>
      <span className={styles.text}>
        {text.slice(0, longLine)}
        {text.length > longLine && (
          <i>
            {t("diff.moreCharacters", {
              count: text.length - longLine,
              shown: whole(text.length - longLine),
            })}
          </i>
        )}
        {noNewline && <i>{t("diff.noNewline")}</i>}
      </span>
    </div>
  );
}

const rowUnder = (target: Element | null): number | null => {
  const row = target?.closest<HTMLElement>("[data-row]")?.dataset["row"];
  return row === undefined ? null : Number(row);
};

/** Ranges by pointer: drag from a number or its button, or click another one with Shift. */
function usePointing({ cursor, onCursor, onComment }: Commenting) {
  const drag = useRef<{ readonly anchor: number; readonly comments: boolean } | null>(null);
  return (event: PointerEvent<HTMLElement>) => {
    if (event.button !== 0 || !(event.target instanceof Element)) return;
    const comments = event.target.closest("[data-add]") !== null;
    if (!comments && !event.target.closest(`.${styles.number ?? ""}`)) return;
    const row = rowUnder(event.target);
    if (row === null) return;
    event.preventDefault();
    const anchor = event.shiftKey && cursor ? cursor.anchor : row;
    drag.current = { anchor, comments };
    let last: Cursor = { row, anchor, side: null };
    onCursor(last);
    const move = (next: globalThis.PointerEvent) => {
      const over = rowUnder(document.elementFromPoint(next.clientX, next.clientY));
      if (over === null || over === last.row) return;
      last = { ...last, row: over };
      onCursor(last);
    };
    const end = new AbortController();
    const { signal } = end;
    addEventListener("pointermove", move, { signal });
    addEventListener("pointercancel", () => end.abort(), { signal });
    addEventListener(
      "pointerup",
      () => {
        end.abort();
        if (comments) onComment?.(last);
      },
      { signal },
    );
  };
}

export function PlainDiff({
  rows,
  columns,
  label,
  commenting,
  onEndReached,
  handle,
}: PlainDiffProps) {
  const list = useRef<VirtualListHandle>(null);
  const { anchors, top, cursor, onCursor, onComment, onKeyDown } = commenting;
  const hasTop = Boolean(top);
  const items = useMemo(() => withNotes(rows, anchors, hasTop), [rows, anchors, hasTop]);
  const itemOf = (row: number) => row + before(row, anchors, hasTop);
  const onPointerDown = usePointing(commenting);
  useImperativeHandle(handle, () => ({
    goTo: ({ row }) => {
      onCursor(at(row));
      list.current?.scrollToIndex(itemOf(Math.max(0, row - 3)), "start");
    },
    focus: () => {
      if (cursor && cursor.row !== cursor.anchor) onCursor(at(cursor.row, cursor.side));
      list.current?.element?.focus({ preventScroll: true });
    },
  }));
  useLeading(commenting, {
    showRow: (row, align) =>
      list.current?.scrollToIndex(itemOf(row), align === "center" ? "center" : "auto"),
    toTop: () => list.current?.scrollToIndex(0, "start"),
  });
  const keys = (event: React.KeyboardEvent) => {
    // The first step is onto the first row in sight.
    const arrow = event.key === "ArrowDown" || event.key === "ArrowUp";
    const box = list.current?.element;
    if (arrow && !cursor && box && !(event.target as Element).closest("[data-thread]")) {
      const item = list.current?.indexAt(box.scrollTop) ?? 0;
      const first = Math.max(0, rowAt(item, anchors, hasTop));
      const line = rows[first]?.type === "line" ? first : first + 1;
      event.preventDefault();
      onCursor(at(Math.min(line, rows.length - 1)));
    } else onKeyDown(event);
  };
  const width = { "--columns": Math.min(columns, longLine) + 2 } as React.CSSProperties;
  return (
    // The list in it is what takes the focus.
    <div
      className={styles.frame}
      style={width}
      data-selectable
      role="presentation"
      onKeyDown={keys}
      onPointerDown={onPointerDown}
    >
      <VirtualList
        items={items}
        keyOf={(item, index) =>
          item.type === "notes"
            ? item.key
            : item.type === "top"
              ? "top"
              : String(rowAt(index, anchors, hasTop))
        }
        rowHeight={20}
        measured={items !== rows}
        overscan={24}
        label={label}
        role="log"
        className={styles.list ?? ""}
        handle={list}
        {...(onEndReached ? { onEndReached } : {})}
      >
        {(item, index) => {
          if (item.type === "top") return <div className={styles.note}>{top}</div>;
          if (item.type === "notes") {
            return (
              <div className={styles.note}>
                <Thread at={item.key} />
              </div>
            );
          }
          const number = rowAt(index, anchors, hasTop);
          return (
            <Line
              row={item}
              number={number}
              selected={cursor !== null && number >= firstOf(cursor) && number <= lastOf(cursor)}
              canComment={onComment !== undefined}
            />
          );
        }}
      </VirtualList>
    </div>
  );
}
