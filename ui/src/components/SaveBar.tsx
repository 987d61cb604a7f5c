import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { Button } from "./Button.tsx";
import styles from "./SaveBar.module.css";

export interface SaveBarProps {
  readonly busy: boolean;
  /** Something that is written cannot be saved as it is. */
  readonly isWrong?: boolean;
  /** Why it cannot be saved, or was not. */
  readonly problem?: string | undefined;
  /** Ways to what is wrong. */
  readonly children?: ReactNode;
  readonly onSave: () => void;
  readonly onDiscard: () => void;
}

/** What is written on a page and not saved: said as long as it is so, with both ways out. */
export function SaveBar({
  busy,
  isWrong = false,
  problem,
  children,
  onSave,
  onDiscard,
}: SaveBarProps) {
  const { t } = useTranslation();
  return (
    <section className={styles.bar} aria-label={t("saveBar.label")}>
      <div className={styles.said} role="status">
        <span className={styles.unsaved}>{t("saveBar.unsaved")}</span>
        {problem !== undefined && <p className={styles.problem}>{problem}</p>}
      </div>
      {children}
      <Button size="sm" variant="ghost" disabled={busy} onClick={onDiscard}>
        {t("saveBar.discard")}
      </Button>
      <Button
        size="sm"
        variant="primary"
        keys="mod+s"
        aria-label={t("projectSettings.save")}
        busy={busy}
        disabled={isWrong}
        onClick={onSave}
      >
        {t("projectSettings.save")}
      </Button>
    </section>
  );
}
