/** Runs of the task that cost more than is usual; nothing where there is none. */
import { Diamond } from "lucide-react";
import { useTranslation } from "react-i18next";
import { useOp } from "#ui/api/client.ts";
import type { Task } from "#ui/api/generated.ts";
import { RelativeTime } from "#ui/components/RelativeTime.tsx";
import { money } from "../numbers.ts";
import styles from "./TaskAnomalies.module.css";

export function TaskAnomalies({ task }: { task: Task }) {
  const { t } = useTranslation();
  // Beside the history, which tells its own troubles: what cannot be read is not said here.
  const found = useOp("cost_anomalies", { task_id: task.id, limit: 10 }).data?.items ?? [];
  if (found.length === 0) return null;
  return (
    <ul className={styles.anomalies} aria-label={t("costPage.onTaskLabel")}>
      {found.map(({ record }) => (
        <li key={record.executionId}>
          <Diamond aria-hidden />
          <span>
            {t("costPage.onTask", {
              who: record.strategy ?? t("costPage.aRun"),
              cost: money(record.costMicroUsd),
              ratio: record.ratio,
              model: record.model || t("costPage.itsModel"),
              median: money(record.medianMicroUsd),
            })}
          </span>
          <RelativeTime at={record.at} />
        </li>
      ))}
    </ul>
  );
}
