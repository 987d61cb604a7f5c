/** The validation among a review's checks: its own checks unfold in it. */
import { CircleCheck, CircleX } from "lucide-react";
import { useTranslation } from "react-i18next";
import type { ReviewStep, ValidateReport } from "#ui/api/generated.ts";
import { duration } from "#ui/components/time.ts";
import { CheckLine, CheckList } from "../CheckLine.tsx";
import { milliseconds } from "../numbers.ts";
import { CheckRow } from "./CheckRow.tsx";
import { counted } from "./validate.ts";

export function ValidateStep({ step, report }: { step: ReviewStep; report: ValidateReport }) {
  const { t } = useTranslation();
  const outcome = report.passed ? "passed" : "failed";
  return (
    <CheckLine
      outcome={outcome}
      mark={report.passed ? <CircleCheck /> : <CircleX />}
      markLabel={t(`validate.outcome.${outcome}`)}
      subject={step.command}
      aside={
        <>
          <span>{t("validate.ofChecks", counted(report.results))}</span>
          {step.duration_ms !== null && (
            <span>{milliseconds(step.duration_ms) ?? duration(step.duration_ms)}</span>
          )}
        </>
      }
      isOpen={!report.passed}
    >
      <CheckList label={t("validate.results")}>
        {report.results.map((check, index) => (
          // The same check may be asked for twice; the order is the checks' own.
          // oxlint-disable-next-line react/no-array-index-key
          <CheckRow key={index} check={check} />
        ))}
      </CheckList>
    </CheckLine>
  );
}
