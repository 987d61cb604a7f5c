/** Runs that cost more than is usual, the latest first; each leads to its task. */
import { Diamond } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import type { CostAnomalyEntry } from "#ui/api/generated.ts";
import { formatRoute } from "#ui/app/router.ts";
import { Button } from "#ui/components/Button.tsx";
import { RelativeTime } from "#ui/components/RelativeTime.tsx";
import { money, times } from "./numbers.ts";
import { Truncate } from "#ui/components/Truncate.tsx";
import layout from "#ui/components/layout.module.css";
import styles from "./Costs.module.css";

/** The others are a press away: the course above shows all of them. */
const atFirst = 8;

export function Anomalies({ items }: { items: readonly CostAnomalyEntry[] }) {
  const { t } = useTranslation();
  const [isWhole, setWhole] = useState(false);
  const shown = isWhole ? items : items.slice(0, atFirst);
  return (
    <section className={styles.section} aria-labelledby="costs-anomalies">
      <div className={styles.head}>
        <h2 id="costs-anomalies">{t("costPage.anomalies")}</h2>
      </div>
      {items.length === 0 ? (
        <p className={layout.note}>{t("costPage.noAnomalies")}</p>
      ) : (
        <ul className={styles.anomalies}>
          {shown.map(({ project_id: project, task_number, record }) => (
            <li key={record.executionId}>
              <a
                className={styles.anomaly}
                href={formatRoute("task", { project, number: String(task_number) })}
                data-anomaly
              >
                <Diamond aria-hidden />
                <Truncate fill>
                  <span className={layout.faint}>#{task_number}</span> {record.title}
                </Truncate>
                <span className={styles.fact}>
                  {record.model || t("costPage.noModel")}
                  {record.strategy ? ` · ${record.strategy}` : ""}
                  {record.attempts > 1
                    ? ` · ${t("costPage.attempts", { count: record.attempts })}`
                    : ""}
                </span>
                <span className={styles.fact}>
                  {t("costPage.versus", {
                    cost: money(record.costMicroUsd),
                    median: money(record.medianMicroUsd),
                  })}
                </span>
                <strong className={styles.ratio}>{times(record.ratio)}</strong>
                <span className={styles.when}>
                  <RelativeTime at={record.at} />
                </span>
              </a>
            </li>
          ))}
        </ul>
      )}
      {shown.length < items.length && (
        <Button variant="ghost" onClick={() => setWhole(true)}>
          {t("costPage.furtherAnomalies", { count: items.length - shown.length })}
        </Button>
      )}
    </section>
  );
}
