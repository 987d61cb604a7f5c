/** Of changes on another machine: which one, when they were so, and why nothing newer is shown. */
import { Server, TriangleAlert } from "lucide-react";
import { useTranslation } from "react-i18next";
import type { SeenThere } from "#ui/api/generated.ts";
import { momentText } from "#ui/domain/machines/machines.ts";
import styles from "./DiffTab.module.css";

export function There({ there: { machine, at, error } }: { there: SeenThere }) {
  const { t } = useTranslation();
  const when = momentText(at);
  return (
    <p className={styles.there} data-stale={error !== null || undefined} role="status">
      {error === null ? <Server aria-hidden /> : <TriangleAlert aria-hidden />}
      <span>
        {error === null ? t("diff.there", { machine }) : t("diff.thereStale", { machine, when })}
        {error !== null && <span className={styles.why}>{error}</span>}
      </span>
    </p>
  );
}
