import { ChevronRight } from "lucide-react";
import { useMemo, type ReactNode } from "react";
import { DiffCount } from "#ui/components/DiffCount.tsx";
import { DiffLines } from "./DiffLines.tsx";
import { LongText } from "./LongText.tsx";
import type { EntryRow } from "./log.ts";
import { useUnfolded } from "./RowContext.ts";
import { countLines, miniDiff } from "./present.ts";
import layout from "#ui/components/layout.module.css";
import styles from "./Rows.module.css";

/** Short edits are open as they come; longer ones wait to be asked. */
const openUpTo = 14;

export interface MiniDiffProps {
  readonly row: EntryRow;
  readonly log: string;
  readonly diff: string | null;
  readonly icon: ReactNode;
  readonly path: string;
  readonly note?: ReactNode;
  readonly label: string;
}

/** A file that was changed, as one line and what changed in it. */
export function MiniDiff({ row, log, diff, icon, path, note, label }: MiniDiffProps) {
  const lines = useMemo(() => (diff === null ? [] : miniDiff(diff)), [diff]);
  const [open, toggle] = useUnfolded(row.key, lines.length > 0 && lines.length <= openUpTo);
  const folder = path.slice(0, path.lastIndexOf("/") + 1);
  return (
    <div className={styles.fold}>
      <button
        type="button"
        className={styles.line}
        aria-expanded={lines.length > 0 ? open : undefined}
        disabled={lines.length === 0}
        onClick={toggle}
      >
        <span className={styles.icon} aria-hidden>
          {icon}
        </span>
        <span className={styles.summary} data-mono>
          <span className={layout.faint}>{folder}</span>
          {path.slice(folder.length)}
        </span>
        <span className={styles.aside}>
          {note}
          {lines.length > 0 && <DiffCount {...countLines(lines)} />}
        </span>
        {lines.length > 0 && <ChevronRight className={styles.chevron} aria-hidden />}
      </button>
      {open && (
        <LongText body={row.body} log={log} seq={row.seq}>
          <DiffLines lines={lines} label={label} />
        </LongText>
      )}
    </div>
  );
}
