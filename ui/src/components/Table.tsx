import { useLayoutEffect, useRef, useState, type ReactNode, type RefObject } from "react";
import styles from "./Table.module.css";

export interface Column<Row> {
  readonly id: string;
  readonly header: string;
  readonly cell: (row: Row) => ReactNode;
  readonly align?: "start" | "end";
  readonly width?: number | string;
}

export interface TableProps<Row> {
  /** Says what the rows are; shown only to assistive technology. */
  readonly caption: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row) => string;
  readonly empty?: ReactNode;
}

/** Whether a box is too narrow for what it holds. */
function useScrolls(box: RefObject<HTMLElement | null>): boolean {
  const [scrolls, setScrolls] = useState(false);
  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return undefined;
    const look = () => setScrolls(element.scrollWidth > element.clientWidth);
    look();
    const observer = new ResizeObserver(look);
    observer.observe(element);
    return () => observer.disconnect();
  }, [box]);
  return scrolls;
}

/** For up to a few hundred rows; more go into a VirtualList. */
export function Table<Row>({ caption, columns, rows, keyOf, empty }: TableProps<Row>) {
  const scroller = useRef<HTMLDivElement>(null);
  const scrolls = useScrolls(scroller);
  if (rows.length === 0 && empty) return empty;
  return (
    <div
      ref={scroller}
      className={styles.scroller}
      // What scrolls is reached by keys, and says what it is.
      {...(scrolls ? { role: "group", "aria-label": caption, tabIndex: 0 } : {})}
    >
      <table className={styles.table}>
        <caption className="visually-hidden">{caption}</caption>
        <thead>
          <tr>
            {columns.map((column) => (
              <th
                key={column.id}
                scope="col"
                data-align={column.align}
                style={{ width: column.width }}
              >
                {column.header}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={keyOf(row)}>
              {columns.map((column) => (
                <td key={column.id} data-align={column.align}>
                  {column.cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
