/** The auditor: at work, or what it said. One that gave no verdict is told apart from one that rejects. */
import {
  ChevronRight,
  CircleAlert,
  CircleCheck,
  CircleX,
  Info,
  TriangleAlert,
  Unplug,
} from "lucide-react";
import { useState, type ReactNode } from "react";
import { useTranslation } from "react-i18next";
import type { AuditFinding, AuditReport, LiveExecution, Severity } from "#ui/api/generated.ts";
import { Avatar } from "#ui/components/Avatar.tsx";
import { Badge, type Tone } from "#ui/components/Badge.tsx";
import { Button } from "#ui/components/Button.tsx";
import { Elapsed } from "#ui/components/Elapsed.tsx";
import { Markdown } from "#ui/components/Markdown.tsx";
import { RelativeTime } from "#ui/components/RelativeTime.tsx";
import { usePlatform } from "#ui/platform/PlatformContext.tsx";
import { useDiffHref } from "../diffPlace.ts";
import { showTab } from "../go.ts";
import { LogDialog } from "../LogDialog.tsx";
import { LogView } from "../LogView.tsx";
import { inOrder, outcomeOfAudit, placeText, scoreTone, type AuditOutcome } from "./audit.ts";
import styles from "./Audit.module.css";

const looks: Readonly<Record<AuditOutcome, { readonly tone: Tone; readonly icon: ReactNode }>> = {
  passed: { tone: "success", icon: <CircleCheck /> },
  rejected: { tone: "danger", icon: <CircleX /> },
  unusable: { tone: "warning", icon: <Unplug /> },
};

const severities: Readonly<
  Record<Severity, { readonly tone: "danger" | "warning" | "neutral"; readonly icon: ReactNode }>
> = {
  error: { tone: "danger", icon: <CircleAlert /> },
  warning: { tone: "warning", icon: <TriangleAlert /> },
  info: { tone: "neutral", icon: <Info /> },
};

/** A score as a bar with its number. */
export function ScoreMeter({ score }: { score: number }) {
  const { t } = useTranslation();
  return (
    <span className={styles.score} data-tone={scoreTone(score)}>
      <span
        className={styles.meter}
        role="meter"
        aria-label={t("audit.score")}
        aria-valuemin={0}
        aria-valuemax={100}
        aria-valuenow={score}
      >
        <span style={{ width: `${score}%` }} />
      </span>
      <span className={styles.number}>{t("audit.outOf", { score })}</span>
    </span>
  );
}

function Finding({ finding }: { finding: AuditFinding }) {
  const { t } = useTranslation();
  const href = useDiffHref();
  const platform = usePlatform();
  const { tone, icon } = severities[finding.severity];
  const place = placeText(finding);
  return (
    <li className={styles.finding} data-tone={tone}>
      <span
        className={styles.severity}
        role="img"
        aria-label={t(`audit.severity.${finding.severity}`)}
      >
        {icon}
      </span>
      <div className={styles.said}>
        <a
          className={styles.place}
          aria-label={t("audit.showPlace", { place })}
          href={href({ file: finding.file, line: finding.line })}
        >
          <code>{place}</code>
        </a>
        <Markdown source={finding.text} onLink={(url) => void platform.openExternal(url)} />
      </div>
    </li>
  );
}

function Report({ taskId, report, name }: { taskId: string; report: AuditReport; name: string }) {
  const { t } = useTranslation();
  const platform = usePlatform();
  const [open, setOpen] = useState(false);
  const [log, setLog] = useState<string | null>(null);
  return (
    <>
      <div className={styles.links}>
        {report.text.trim() !== "" && (
          <button
            type="button"
            className={styles.fold}
            aria-expanded={open}
            onClick={() => setOpen(!open)}
          >
            <ChevronRight aria-hidden />
            {t("audit.report")}
          </button>
        )}
        <Button size="sm" variant="ghost" onClick={() => setLog(report.log_id)}>
          {t("audit.log")}
        </Button>
        <Button size="sm" variant="ghost" onClick={() => showTab("conversation")}>
          {t("audit.conversation")}
        </Button>
      </div>
      {open && (
        <div className={styles.report}>
          <Markdown source={report.text} onLink={(href) => void platform.openExternal(href)} />
        </div>
      )}
      <LogDialog
        taskId={taskId}
        logId={log}
        title={t("audit.logOf", { name })}
        onClose={() => setLog(null)}
      />
    </>
  );
}

export interface AuditBlockProps {
  readonly taskId: string;
  readonly report: AuditReport;
  readonly name: string;
  /** It gave no verdict and was asked once more. */
  readonly askedAgain: boolean;
}

export function AuditBlock({ taskId, report, name, askedAgain }: AuditBlockProps) {
  const { t } = useTranslation();
  const platform = usePlatform();
  const outcome = outcomeOfAudit(report);
  const { tone, icon } = looks[outcome];
  return (
    <div
      role="group"
      className={styles.audit}
      aria-label={t("audit.by", { name })}
      data-outcome={outcome}
    >
      <header className={styles.head}>
        <Avatar name={name} size={16} />
        <h4 className={styles.who}>
          <span className={styles.role}>{t("audit.role")}</span> {name}
        </h4>
        <Badge tone={tone} icon={icon}>
          {t(`audit.outcome.${outcome}`)}
        </Badge>
        {report.score !== null && <ScoreMeter score={report.score} />}
        <span className={styles.when}>
          <RelativeTime at={report.at} />
        </span>
      </header>
      {outcome === "unusable" && (
        <p className={styles.text}>{t(askedAgain ? "audit.askedAgain" : "audit.unusableText")}</p>
      )}
      {report.reason && (
        <div className={styles.text}>
          <Markdown source={report.reason} onLink={(url) => void platform.openExternal(url)} />
        </div>
      )}
      {report.findings.length > 0 && (
        <ul className={styles.findings} aria-label={t("audit.findings")}>
          {inOrder(report.findings).map((finding, index) => (
            <Finding key={index} finding={finding} />
          ))}
        </ul>
      )}
      <Report taskId={taskId} report={report} name={name} />
    </div>
  );
}

/** What the auditor does this moment. */
export function LiveAudit({
  taskId,
  live,
  name,
}: {
  taskId: string;
  live: LiveExecution;
  name: string;
}) {
  const { t } = useTranslation();
  return (
    <div
      role="group"
      className={styles.audit}
      aria-label={t("audit.by", { name })}
      data-outcome="running"
    >
      <header className={styles.head}>
        <Avatar name={name} size={16} live />
        <h4 className={styles.who}>
          <span className={styles.role}>{t("audit.role")}</span> {name}
        </h4>
        <Badge tone="accent">{t("audit.reading")}</Badge>
        <span className={styles.when}>
          <Elapsed since={live.started_at} />
        </span>
      </header>
      {live.activity !== "" && (
        <p className={styles.text} role="status">
          {live.activity}
        </p>
      )}
      <LogView taskId={taskId} logId={live.execution_id} look="inline" />
      <div className={styles.links}>
        <Button size="sm" variant="ghost" onClick={() => showTab("conversation")}>
          {t("audit.conversation")}
        </Button>
      </div>
    </div>
  );
}
