/** Rows of a patch to be read: no colours of syntax, no comments. */
import { VirtualList } from "#ui/components/VirtualList.tsx";
import { GapRow } from "./GapRow.tsx";
import { Line } from "./Line.tsx";
import type { DiffRow } from "./hunks.ts";
import { rowHeight as drawnHeight, type Rows } from "#ui/components/rows.ts";
import { gapHeight, rowHeight } from "./items.ts";
import styles from "./Changes.module.css";

export interface PlainDiffProps {
  readonly rows: readonly DiffRow[];
  readonly columns: number;
  readonly label: string;
}

const none = () => {};

const heightOf = ({ type }: DiffRow) => (type === "gap" ? gapHeight : rowHeight);

/** As high as all its rows are drawn. */
export const heightOfRows = (rows: readonly DiffRow[], looks: Rows): number =>
  rows.reduce((sum, row) => sum + drawnHeight(looks, heightOf(row)), 0);

export function PlainDiff({ rows, columns, label }: PlainDiffProps) {
  return (
    <div
      className={styles.frame}
      style={{ "--columns": columns + 2 } as React.CSSProperties}
      data-selectable
    >
      <VirtualList
        items={rows}
        keyOf={(_, index) => String(index)}
        rowHeight={rowHeight}
        heightOf={heightOf}
        overscan={24}
        label={label}
        role="log"
        className={styles.list ?? ""}
      >
        {(row, index) =>
          row.type === "gap" ? (
            <GapRow
              gap={null}
              header={row.header}
              oldNo={row.oldNo}
              newNo={row.newNo}
              busy={false}
              onShow={none}
            />
          ) : (
            <Line
              line={row.line}
              row={index}
              colours={undefined}
              selected={false}
              canComment={false}
            />
          )
        }
      </VirtualList>
    </div>
  );
}
