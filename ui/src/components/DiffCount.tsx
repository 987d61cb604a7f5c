import { useTranslation } from "react-i18next";
import styles from "./DiffCount.module.css";

/** "+12 −3": how much was added and removed. */
export function DiffCount({ added, removed }: { added: number; removed: number }) {
  const { t } = useTranslation();
  const format = new Intl.NumberFormat(navigator.language);
  return (
    <span
      className={styles.count}
      role="img"
      aria-label={t("diff.count", { added: format.format(added), removed: format.format(removed) })}
    >
      <span className={styles.added}>+{format.format(added)}</span>
      <span className={styles.removed}>−{format.format(removed)}</span>
    </span>
  );
}
