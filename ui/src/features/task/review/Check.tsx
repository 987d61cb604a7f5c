/** One check: how it ended, and the end of what it printed; while it runs, what it prints. */
import { CircleCheck, CircleSlash, CircleX, LoaderCircle } from "lucide-react";
import { useState, type ReactNode } from "react";
import { useTranslation } from "react-i18next";
import type { ReviewStep } from "#ui/api/generated.ts";
import { AnsiText } from "#ui/components/AnsiText.tsx";
import { Badge } from "#ui/components/Badge.tsx";
import { Button } from "#ui/components/Button.tsx";
import { CodeBlock } from "#ui/components/CodeBlock.tsx";
import { duration } from "#ui/components/time.ts";
import { CheckLine } from "../CheckLine.tsx";
import { LogDialog } from "../LogDialog.tsx";
import { LogView } from "../LogView.tsx";
import { milliseconds } from "../numbers.ts";
import { useOutputLinks } from "../useOutputLinks.ts";
import { ValidateStep } from "../validate/ValidateStep.tsx";
import { isOpenAtFirst, outcomeOf, tailOf, type CheckOutcome } from "./checks.ts";
import layout from "#ui/components/layout.module.css";
import styles from "./Reviews.module.css";

const marks: Readonly<Record<CheckOutcome, ReactNode>> = {
  running: <LoaderCircle />,
  passed: <CircleCheck />,
  failed: <CircleX />,
  stopped: <CircleSlash />,
};

function Output({ taskId, step }: { taskId: string; step: ReviewStep }) {
  const { t } = useTranslation();
  const linksIn = useOutputLinks(taskId);
  if (!step.finished) {
    return (
      <div className={styles.stream}>
        <LogView taskId={taskId} logId={step.log_id} look="inline" />
      </div>
    );
  }
  const tail = tailOf(step);
  if (tail === "") return <p className={layout.prose}>{t("task.noOutput")}</p>;
  return (
    <CodeBlock code={tail} maxHeight={280}>
      <AnsiText text={tail} linksIn={linksIn} />
    </CodeBlock>
  );
}

function Facts({ step }: { step: ReviewStep }) {
  const { t } = useTranslation();
  return (
    <>
      {step.cached && <Badge>{t("review.cached")}</Badge>}
      {step.timed_out && <Badge tone="danger">{t("review.timedOut")}</Badge>}
      {step.signal !== null && (
        <Badge tone="danger">{t("review.signal", { signal: step.signal })}</Badge>
      )}
      {step.exit_code !== null && step.exit_code !== 0 && (
        <Badge tone="danger">{t("conversation.exit", { code: step.exit_code })}</Badge>
      )}
      {step.duration_ms !== null && (
        <span>{milliseconds(step.duration_ms) ?? duration(step.duration_ms)}</span>
      )}
    </>
  );
}

export function Check({ taskId, step }: { taskId: string; step: ReviewStep }) {
  const { t } = useTranslation();
  const outcome = outcomeOf(step);
  const [log, setLog] = useState<string | null>(null);
  if (step.validate) return <ValidateStep step={step} report={step.validate} />;
  return (
    <CheckLine
      outcome={outcome}
      mark={marks[outcome]}
      markLabel={t(`review.check.${outcome}`)}
      subject={step.command}
      aside={<Facts step={step} />}
      isOpen={isOpenAtFirst(step)}
    >
      {step.changed_files.length > 0 && (
        <p className={layout.prose}>
          {t("review.changedFiles")} <code>{step.changed_files.join(", ")}</code>
        </p>
      )}
      <Output taskId={taskId} step={step} />
      <Button size="sm" variant="ghost" flush onClick={() => setLog(step.log_id)}>
        {t("task.wholeOutput")}
      </Button>
      <LogDialog taskId={taskId} logId={log} title={step.command} onClose={() => setLog(null)} />
    </CheckLine>
  );
}
