/** A check as a line that unfolds: how it ended, what it was, and what it found. */
import { ChevronRight } from "lucide-react";
import { useState, type ReactNode } from "react";
import parts from "./TabParts.module.css";
import { Truncate } from "#ui/components/Truncate.tsx";
import styles from "./CheckLine.module.css";

export function CheckList({ label, children }: { label?: string; children: ReactNode }) {
  return (
    <ol className={parts.lines} aria-label={label}>
      {children}
    </ol>
  );
}

export interface CheckLineProps {
  /** Colours the mark: running, passed, failed, unknown, or anything quieter. */
  readonly outcome: string;
  readonly mark: ReactNode;
  /** The mark for those who do not see it. */
  readonly markLabel: string;
  readonly subject: string;
  readonly aside: ReactNode;
  /** Unfolded until the person says otherwise. */
  readonly isOpen: boolean;
  readonly children: ReactNode;
}

export function CheckLine(props: CheckLineProps) {
  const { outcome, mark, markLabel, subject, aside, isOpen, children } = props;
  const [chosen, setChosen] = useState<boolean | null>(null);
  const open = chosen ?? isOpen;
  return (
    <li className={styles.check} data-outcome={outcome}>
      <button
        type="button"
        className={parts.opener}
        aria-expanded={open}
        onClick={() => setChosen(!open)}
      >
        <span className={styles.mark} role="img" aria-label={markLabel}>
          {mark}
        </span>
        <Truncate as="code" fill>
          {subject}
        </Truncate>
        <span className={styles.aside}>{aside}</span>
        <ChevronRight className={parts.chevron} aria-hidden />
      </button>
      {open && <div className={styles.inside}>{children}</div>}
    </li>
  );
}
