/** A diff of any size as plain rows: no colours of syntax, one column, nothing off the screen. */
import { useImperativeHandle, useRef, type Ref } from "react";
import { useTranslation } from "react-i18next";
import { VirtualList, type VirtualListHandle } from "#ui/components/VirtualList.tsx";
import { whole } from "../numbers.ts";
import { longLine, type DiffRow } from "./hunks.ts";
import type { DiffViewHandle } from "./view.ts";
import styles from "./PlainDiff.module.css";

export interface PlainDiffProps {
  readonly rows: readonly DiffRow[];
  readonly columns: number;
  readonly label: string;
  readonly onEndReached: (() => void) | undefined;
  readonly handle: Ref<DiffViewHandle>;
}

function Line({ row }: { row: DiffRow }) {
  const { t } = useTranslation();
  if (row.type === "gap") {
    return (
      <div className={styles.gap}>
        <span className={styles.range}>{`@@ -${row.oldNo} +${row.newNo} @@`}</span>
        {row.header}
      </div>
    );
  }
  const { kind, text, old_no: oldNo, new_no: newNo, no_newline: noNewline } = row.line;
  const sign = { context: " ", added: "+", removed: "-" }[kind];
  return (
    <div className={styles.line} data-kind={kind}>
      <span className={styles.number}>{oldNo}</span>
      <span className={styles.number}>{newNo}</span>
      <span className={styles.sign}>{sign}</span>
      <span className={styles.text}>
        {text.slice(0, longLine)}
        {text.length > longLine && (
          <i>{t("diff.moreCharacters", { count: whole(text.length - longLine) })}</i>
        )}
        {noNewline && <i>{t("diff.noNewline")}</i>}
      </span>
    </div>
  );
}

export function PlainDiff({ rows, columns, label, onEndReached, handle }: PlainDiffProps) {
  const list = useRef<VirtualListHandle>(null);
  useImperativeHandle(handle, () => ({
    goTo: ({ row }) => list.current?.scrollToIndex(Math.max(0, row - 3), "start"),
  }));
  const width = { "--columns": Math.min(columns, longLine) + 2 } as React.CSSProperties;
  return (
    <div className={styles.frame} style={width} data-selectable>
      <VirtualList
        items={rows}
        keyOf={(_, index) => String(index)}
        rowHeight={20}
        overscan={24}
        label={label}
        role="log"
        className={styles.list ?? ""}
        handle={list}
        {...(onEndReached ? { onEndReached } : {})}
      >
        {(row) => <Line row={row} />}
      </VirtualList>
    </div>
  );
}
