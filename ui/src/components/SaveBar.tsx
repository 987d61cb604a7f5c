import { useTranslation } from "react-i18next";
import { Button } from "./Button.tsx";
import styles from "./SaveBar.module.css";

export interface SaveBarProps {
  readonly busy: boolean;
  /** Something that is written cannot be saved as it is. */
  readonly isWrong?: boolean;
  readonly onSave: () => void;
  readonly onDiscard: () => void;
}

/** What is written on a page and not saved: said as long as it is so, with both ways out. */
export function SaveBar({ busy, isWrong = false, onSave, onDiscard }: SaveBarProps) {
  const { t } = useTranslation();
  return (
    <section className={styles.bar} aria-label={t("saveBar.label")}>
      <span className={styles.said} role="status">
        {t("saveBar.unsaved")}
      </span>
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
