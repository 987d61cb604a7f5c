/** What stands between the work and the target: attempts at the gate, the merge, the pull request. */
import { ClipboardCheck } from "lucide-react";
import { useTranslation } from "react-i18next";
import { useOp } from "#ui/api/client.ts";
import type { Task } from "#ui/api/generated.ts";
import { EmptyState } from "#ui/components/EmptyState.tsx";
import { ErrorState } from "#ui/components/ErrorState.tsx";
import { SkeletonText } from "#ui/components/Skeleton.tsx";
import { useAgentNames } from "../useAgentNames.ts";
import { Attempt } from "./Attempt.tsx";
import { MergeState } from "./MergeState.tsx";
import { Plan } from "./Plan.tsx";
import { PullRequestPart } from "./PullRequestPart.tsx";
import styles from "./Reviews.module.css";

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
            {/* What was asked for after the last one counts, too, and was not granted. */}
            <dd>{t("progress.of", { done: Math.min(used, limit), total: limit })}</dd>
          </div>
        );
      })}
    </dl>
  );
}

function Attempts({ task }: { task: Task }) {
  const { t } = useTranslation();
  const agents = useAgentNames();
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
  if (!reviews.data) return <SkeletonText lines={5} />;
  const attempts = [...reviews.data.items].sort(
    (one, other) => other.attempt_number - one.attempt_number,
  );
  if (attempts.length === 0) {
    return (
      <EmptyState icon={<ClipboardCheck />} title={t("review.none")}>
        {t("review.noneText")}
      </EmptyState>
    );
  }
  return (
    <>
      <BudgetLine task={task} />
      {attempts.map((review, index) => (
        <Attempt key={review.id} task={task} review={review} newest={index === 0} agents={agents} />
      ))}
    </>
  );
}

export function Reviews({ task }: { task: Task }) {
  return (
    <div className={styles.reviews} data-selectable>
      <Plan task={task} />
      <PullRequestPart task={task} />
      <MergeState task={task} />
      <Attempts task={task} />
    </div>
  );
}
