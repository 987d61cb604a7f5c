/** How far an import is, why it does not go on, and what became of its issues. */
import type { RefObject } from "react";
import { useTranslation } from "react-i18next";
import type { ImportStatus, IssueImport } from "#ui/api/generated.ts";
import { Badge, type Tone } from "#ui/components/Badge.tsx";
import { Banner } from "#ui/components/Banner.tsx";
import { Countdown } from "#ui/components/Elapsed.tsx";
import { Progress } from "#ui/components/Progress.tsx";
import { Stack } from "#ui/components/Stack.tsx";
import layout from "#ui/components/layout.module.css";
import { issueIcons } from "#ui/domain/issues/icons.tsx";
import { doneOf, outcomes } from "./progress.ts";
import styles from "./issues.module.css";

const tones: Readonly<Record<ImportStatus, Tone>> = {
  running: "accent",
  waiting: "warning",
  done: "success",
  failed: "danger",
  cancelled: "neutral",
};

export function StatusBadge({ status }: { status: ImportStatus }) {
  const { t } = useTranslation();
  return <Badge tone={tones[status]}>{t(`issues.status.${status}`)}</Badge>;
}

function Problem({ found }: { found: IssueImport }) {
  const { t } = useTranslation();
  const { status, problem, remedy, retry_at: retry } = found;
  if (problem === null) return null;
  const isWaiting = status === "waiting";
  return (
    <Banner
      tone={isWaiting ? "warning" : "danger"}
      title={t(isWaiting ? "issues.waits" : "issues.interrupted")}
    >
      <p>{problem}</p>
      {remedy !== null && <p>{remedy}</p>}
      {retry !== null && (
        <p>
          {t("issues.continuesIn")} <Countdown until={retry} />
        </p>
      )}
    </Banner>
  );
}

function Failures({ found }: { found: IssueImport }) {
  const { t } = useTranslation();
  const { failures, counts } = found;
  if (failures.length === 0) return null;
  const rest = counts.failed - failures.length;
  return (
    <Stack gap={1}>
      <h3 className={styles.label}>{t("issues.failures")}</h3>
      <ul className={styles.failures} aria-label={t("issues.failures")} data-selectable>
        {failures.map(({ ref, message }) => (
          <li key={ref}>
            <bdi className={styles.failed}>{ref}</bdi>
            <span className={layout.prose}>{message}</span>
          </li>
        ))}
      </ul>
      {rest > 0 && <p className={layout.note}>{t("issues.moreFailures", { count: rest })}</p>}
    </Stack>
  );
}

export function ImportProgress({
  found,
  ref,
}: {
  found: IssueImport;
  ref: RefObject<HTMLDivElement | null>;
}) {
  const { t } = useTranslation();
  const { kind, source, status, counts } = found;
  const told = outcomes
    .filter((outcome) => counts[outcome] > 0)
    .map((outcome) => t(`issues.count.${outcome}`, { count: counts[outcome] }));
  const isOver = status === "done" || status === "cancelled";
  return (
    <div ref={ref} role="group" className={styles.progress} tabIndex={-1} aria-label={source}>
      <div className={styles.source}>
        <span className={styles.kind} aria-hidden>
          {issueIcons[kind]}
        </span>
        <h3 className={styles.sourceName}>{source}</h3>
        <span role="status">
          <StatusBadge status={status} />
        </span>
      </div>
      {!isOver && (
        <Progress
          label={t("issues.progress")}
          done={doneOf(counts)}
          total={counts.total === 0 ? null : counts.total}
        />
      )}
      <Problem found={found} />
      <p>
        {told.length > 0
          ? t("issues.counts", { counts: told.join(", ") })
          : t(isOver ? "issues.nothing" : "issues.nothingYet")}
      </p>
      {counts.differs > 0 && <p className={layout.note}>{t("issues.differsText")}</p>}
      {counts.skipped > 0 && <p className={layout.note}>{t("issues.skippedText")}</p>}
      <Failures found={found} />
      {status === "running" && <p className={layout.note}>{t("issues.mayClose")}</p>}
    </div>
  );
}
