import { cx } from "./cx.ts";
import styles from "./Meter.module.css";

export interface MeterProps {
  /** What is measured. */
  readonly label: string;
  /** How much of it is used; above 100 when it is exceeded. */
  readonly percent: number;
  /** The same in words, beside the bar. */
  readonly text: string;
  /** It nears its end. Say so beside it, too: the bar only changes its colour. */
  readonly isHigh?: boolean;
}

/** How much of a limit is used, as a bar with its figure. */
export function Meter({ label, percent, text, isHigh = false }: MeterProps) {
  const shown = Math.min(percent, 100);
  return (
    <span className={styles.meter}>
      <span
        className={cx(styles.track, isHigh && styles.high)}
        role="meter"
        aria-label={label}
        aria-valuemin={0}
        aria-valuemax={100}
        aria-valuenow={shown}
        aria-valuetext={text}
        data-forced-colour
      >
        <span style={{ width: `${shown}%` }} />
      </span>
      <span aria-hidden>{text}</span>
    </span>
  );
}
