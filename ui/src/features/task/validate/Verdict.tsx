/** The latest attempt: whether it passes, how it compares with those before, and what is advised. */
import { CircleCheck, CircleX } from "lucide-react";
import { useTranslation } from "react-i18next";
import type { Attempt, CheckResult } from "#ui/api/generated.ts";
import { Badge } from "#ui/components/Badge.tsx";
import { RelativeTime } from "#ui/components/RelativeTime.tsx";
import { MeasureBadges } from "./MeasureBadges.tsx";
import { counted, whyOf } from "./validate.ts";
import parts from "../TabParts.module.css";
import styles from "./Validate.module.css";

export function Verdict({
  attempt,
  results,
}: {
  attempt: Attempt;
  results: readonly CheckResult[];
}) {
  const { t } = useTranslation();
  const { passed, all } = counted(results);
  return (
    <>
      <header className={parts.head}>
        <h3>{t("validate.attempt", { count: attempt.attempt })}</h3>
        <Badge
          tone={attempt.passed ? "success" : "danger"}
          icon={attempt.passed ? <CircleCheck /> : <CircleX />}
        >
          {t(attempt.passed ? "validate.passed" : "validate.failed")}
        </Badge>
        <MeasureBadges measures={attempt} />
        <span className={parts.facts}>
          {all > 0 && <span>{t("validate.ofChecks", { passed, all })}</span>}
          <RelativeTime at={attempt.at} />
        </span>
      </header>
      <p className={styles.advice} role="status">
        <strong>{t(`validate.recommendation.${attempt.recommendation}`)}</strong>{" "}
        {t(`validate.why.${whyOf(attempt)}`)}
      </p>
    </>
  );
}
