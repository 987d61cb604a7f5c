import { Progress as Base } from "@base-ui/react/progress";
import { useTranslation } from "react-i18next";
import styles from "./Progress.module.css";

export interface ProgressProps {
  /** What is under way: "Cloning", "Checks". */
  readonly label: string;
  readonly done: number;
  /** Null while nobody knows how much there is. */
  readonly total: number | null;
  /** What it is at now: a path, a command. */
  readonly detail?: string;
}

export function Progress({ label, done, total, detail }: ProgressProps) {
  const { t } = useTranslation();
  return (
    <Base.Root
      className={styles.progress}
      value={total === null ? null : done}
      max={total ?? 1}
      aria-valuetext={
        total === null ? t("progress.some", { done }) : t("progress.of", { done, total })
      }
    >
      <Base.Label className={styles.label}>{label}</Base.Label>
      <span className={styles.count} aria-hidden>
        {total === null ? t("progress.some", { done }) : t("progress.of", { done, total })}
      </span>
      <Base.Track className={styles.track} data-forced-colour>
        <Base.Indicator className={styles.bar} />
      </Base.Track>
      {detail && <span className={styles.detail}>{detail}</span>}
    </Base.Root>
  );
}
