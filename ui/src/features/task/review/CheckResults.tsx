/** How the checks of the newest attempt ended, in a line: what a decision rests on. */
import { CircleCheck, CircleSlash, CircleX, LoaderCircle } from "lucide-react";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { useOp } from "#ui/api/client.ts";
import { Badge, type Tone } from "#ui/components/Badge.tsx";
import { Button } from "#ui/components/Button.tsx";
import { Row } from "#ui/components/Row.tsx";
import { Truncate } from "#ui/components/Truncate.tsx";
import { duration } from "#ui/components/time.ts";
import { showTab } from "../go.ts";
import { milliseconds } from "../numbers.ts";
import { outcomeOf, type CheckOutcome } from "./checks.ts";
import layout from "#ui/components/layout.module.css";
import styles from "./Reviews.module.css";

const looks: Readonly<Record<CheckOutcome, { readonly tone: Tone; readonly icon: ReactNode }>> = {
  running: { tone: "review", icon: <LoaderCircle /> },
  passed: { tone: "success", icon: <CircleCheck /> },
  failed: { tone: "danger", icon: <CircleX /> },
  stopped: { tone: "neutral", icon: <CircleSlash /> },
};

export function CheckResults({ taskId }: { taskId: string }) {
  const { t } = useTranslation();
  const reviews = useOp("task_reviews", { task_id: taskId }).data?.items;
  const newest = reviews?.reduce<(typeof reviews)[number] | undefined>(
    (last, each) => (last && last.attempt_number > each.attempt_number ? last : each),
    undefined,
  );
  // The Review tab says the rest; a plan or a task without checks has nothing here.
  if (!newest || newest.steps.length === 0) return null;
  return (
    <Row wrap gap={2}>
      <Row as="ul" wrap gap={2} aria-label={t("review.checksLabel")}>
        {newest.steps.map((step) => {
          const outcome = outcomeOf(step);
          const took =
            step.duration_ms === null
              ? null
              : (milliseconds(step.duration_ms) ?? duration(step.duration_ms));
          return (
            <li key={step.index} className={styles.result} title={step.command}>
              <Badge {...looks[outcome]}>
                <span className="visually-hidden">{t(`review.check.${outcome}`)}: </span>
                <Truncate as="code">{step.command}</Truncate>
                {took !== null && <span className={layout.faint}>{took}</span>}
              </Badge>
            </li>
          );
        })}
      </Row>
      <Button size="sm" variant="ghost" onClick={() => showTab("review")}>
        {t("review.openChecks")}
      </Button>
    </Row>
  );
}
