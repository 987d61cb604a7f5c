import type { MiniLine } from "./present.ts";
import styles from "./Rows.module.css";

/** More than this is for the Diff tab. */
const shownUpTo = 400;

/** What changed, without numbers: for a glance. */
export function DiffLines({ lines, label }: { lines: readonly MiniLine[]; label: string }) {
  return (
    // A scrolling region must be reachable by keyboard.
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
    <pre className={styles.mini} aria-label={label} tabIndex={0}>
      {lines.slice(0, shownUpTo).map((line, index) => (
        <span key={index} className={styles.miniLine} data-kind={line.kind}>
          {line.text || " "}
        </span>
      ))}
    </pre>
  );
}
