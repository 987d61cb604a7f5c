/** Every attempt at passing the gate, the newest first, with its checks as they run. */
import {
  ChevronRight,
  CircleCheck,
  CircleSlash,
  CircleX,
  LoaderCircle,
  Hand,
  ClipboardCheck,
} from "lucide-react";
import { useState, type ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { useOp } from "#ui/api/client.ts";
import type { Review, ReviewStatus, ReviewStep, Task } from "#ui/api/generated.ts";
import { AnsiText } from "#ui/components/AnsiText.tsx";
import { Badge, type Tone } from "#ui/components/Badge.tsx";
import { Button } from "#ui/components/Button.tsx";
import { CodeBlock } from "#ui/components/CodeBlock.tsx";
import { EmptyState } from "#ui/components/EmptyState.tsx";
import { ErrorState } from "#ui/components/ErrorState.tsx";
import { Markdown } from "#ui/components/Markdown.tsx";
import { RelativeTime } from "#ui/components/RelativeTime.tsx";
import { SkeletonText } from "#ui/components/Skeleton.tsx";
import { duration } from "#ui/components/time.ts";
import { usePlatform } from "#ui/platform/PlatformContext.tsx";
import { LogDialog } from "../LogDialog.tsx";
import { actorText } from "../actor.ts";
import { milliseconds } from "../numbers.ts";
import { useAgentNames } from "../useAgentNames.ts";
import { Plan } from "./Plan.tsx";
import { isOpenAtFirst, outcomeOf, tailOf, type CheckOutcome } from "./checks.ts";
import styles from "./Reviews.module.css";

const looks: Readonly<Record<ReviewStatus, { readonly tone: Tone; readonly icon: ReactNode }>> = {
  running: { tone: "accent", icon: <LoaderCircle /> },
  awaiting_human: { tone: "warning", icon: <Hand /> },
  passed: { tone: "success", icon: <CircleCheck /> },
  failed: { tone: "danger", icon: <CircleX /> },
  cancelled: { tone: "neutral", icon: <CircleSlash /> },
};

const marks: Readonly<Record<CheckOutcome, ReactNode>> = {
  running: <LoaderCircle />,
  passed: <CircleCheck />,
  failed: <CircleX />,
  stopped: <CircleSlash />,
};

function Check({ taskId, step }: { taskId: string; step: ReviewStep }) {
  const { t } = useTranslation();
  const outcome = outcomeOf(step);
  const [chosen, setOpen] = useState<boolean | null>(null);
  const open = chosen ?? isOpenAtFirst(step);
  const [log, setLog] = useState<string | null>(null);
  const tail = tailOf(step);
  return (
    <li className={styles.check} data-outcome={outcome}>
      <button
        type="button"
        className={styles.line}
        aria-expanded={open}
        onClick={() => setOpen(!open)}
      >
        <span className={styles.mark} role="img" aria-label={t(`review.check.${outcome}`)}>
          {marks[outcome]}
        </span>
        <code className={styles.command}>{step.command}</code>
        <span className={styles.aside}>
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
        </span>
        <ChevronRight className={styles.chevron} aria-hidden />
      </button>
      {open && (
        <div className={styles.inside}>
          {step.changed_files.length > 0 && (
            <p className={styles.note}>
              {t("review.changedFiles")} <code>{step.changed_files.join(", ")}</code>
            </p>
          )}
          {tail === "" ? (
            <p className={styles.note}>{t("task.noOutput")}</p>
          ) : (
            <CodeBlock code={tail} maxHeight={280}>
              <AnsiText text={tail} />
            </CodeBlock>
          )}
          <Button size="sm" variant="ghost" flush onClick={() => setLog(step.log_id)}>
            {t("task.wholeOutput")}
          </Button>
        </div>
      )}
      <LogDialog taskId={taskId} logId={log} title={step.command} onClose={() => setLog(null)} />
    </li>
  );
}

function Attempt({ task, review, newest }: { task: Task; review: Review; newest: boolean }) {
  const { t } = useTranslation();
  const platform = usePlatform();
  const agents = useAgentNames();
  const { tone, icon } = looks[review.status];
  const took = review.finished_at
    ? Date.parse(review.finished_at) - Date.parse(review.started_at)
    : null;
  return (
    <section
      className={styles.attempt}
      aria-label={t("review.attempt", { count: review.attempt_number })}
    >
      <header className={styles.head}>
        <h3>{t("review.attempt", { count: review.attempt_number })}</h3>
        <Badge tone={tone} icon={icon}>
          {review.verdict === "pass_ci_only"
            ? t("review.passCiOnly")
            : t(`review.status.${review.status}`)}
        </Badge>
        <span className={styles.facts}>
          {newest && review.status === "running" && review.steps.length > 0 && (
            <span>
              {t("progress.of", {
                done: review.steps.filter((step) => step.finished).length,
                total: review.steps.length,
              })}
            </span>
          )}
          <RelativeTime at={review.started_at} />
          {took !== null && <span>{milliseconds(took) ?? duration(took)}</span>}
          {review.reviewed_commit && <code>{review.reviewed_commit.slice(0, 8)}</code>}
        </span>
      </header>
      {review.steps.length > 0 ? (
        <ol className={styles.checks}>
          {review.steps.map((step) => (
            <Check key={step.index} taskId={task.id} step={step} />
          ))}
        </ol>
      ) : (
        !review.note && <p className={styles.note}>{t("review.noChecks")}</p>
      )}
      {review.note && <p className={styles.note}>{review.note}</p>}
      {review.reason && (
        <div className={styles.reason}>
          <Markdown source={review.reason} onLink={(href) => void platform.openExternal(href)} />
        </div>
      )}
      {review.decided_by && (
        <p className={styles.note}>
          {t("review.decidedBy", { name: actorText(review.decided_by, agents, t) })}
        </p>
      )}
    </section>
  );
}

function BudgetLine({ task }: { task: Task }) {
  const { t } = useTranslation();
  const kinds = ["review", "merge_fix", "execution"] as const;
  return (
    <dl className={styles.budgets} aria-label={t("review.budgets")}>
      {kinds.map((kind) => {
        const { used, limit } = task.budgets[kind];
        return (
          <div key={kind} data-spent={used >= limit || undefined}>
            <dt>{t(`review.budget.${kind}`)}</dt>
            <dd>{t("progress.of", { done: used, total: limit })}</dd>
          </div>
        );
      })}
    </dl>
  );
}

export function Reviews({ task }: { task: Task }) {
  const { t } = useTranslation();
  const reviews = useOp("task_reviews", { task_id: task.id });
  if (reviews.error) {
    return (
      <ErrorState
        title={t("review.failed")}
        error={reviews.error}
        onRetry={() => void reviews.refetch()}
      />
    );
  }
  if (!reviews.data) {
    return (
      <div className={styles.reviews} aria-busy>
        <SkeletonText lines={5} />
      </div>
    );
  }
  const attempts = [...reviews.data.items].sort(
    (one, other) => other.attempt_number - one.attempt_number,
  );
  if (attempts.length === 0) {
    return (
      <div className={styles.reviews}>
        <Plan task={task} />
        <EmptyState icon={<ClipboardCheck />} title={t("review.none")}>
          {t("review.noneText")}
        </EmptyState>
      </div>
    );
  }
  return (
    <div className={styles.reviews} data-selectable>
      <BudgetLine task={task} />
      <Plan task={task} />
      {attempts.map((review, index) => (
        <Attempt key={review.id} task={task} review={review} newest={index === 0} />
      ))}
    </div>
  );
}
