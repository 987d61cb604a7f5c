/** One attempt at passing the gate: its checks, its auditor, and what was decided by whom. */
import { CircleCheck, CircleSlash, CircleX, Hand, LoaderCircle, Square } from "lucide-react";
import { useMemo, type ReactNode } from "react";
import { useTranslation } from "react-i18next";
import type { Review, ReviewStatus, Task } from "#ui/api/generated.ts";
import { useCommands, type Command } from "#ui/app/keys.ts";
import { Badge, type Tone } from "#ui/components/Badge.tsx";
import { Button } from "#ui/components/Button.tsx";
import { CopyButton } from "#ui/components/CopyButton.tsx";
import { Elapsed } from "#ui/components/Elapsed.tsx";
import { Markdown } from "#ui/components/Markdown.tsx";
import { RelativeTime } from "#ui/components/RelativeTime.tsx";
import { duration } from "#ui/components/time.ts";
import { usePlatform } from "#ui/platform/PlatformContext.tsx";
import { ActionError } from "../ActionError.tsx";
import { actorText } from "../actor.ts";
import { CheckList } from "../CheckLine.tsx";
import { milliseconds } from "../numbers.ts";
import { useAction, type Action } from "../useAction.ts";
import { MeasureBadges } from "../validate/MeasureBadges.tsx";
import { AuditBlock, LiveAudit } from "./Audit.tsx";
import { isAudited, outcomeOfAudit } from "./audit.ts";
import { Check } from "./Check.tsx";
import { Stack } from "#ui/components/Stack.tsx";
import layout from "#ui/components/layout.module.css";
import parts from "../TabParts.module.css";
import styles from "./Reviews.module.css";

const looks: Readonly<Record<ReviewStatus, { readonly tone: Tone; readonly icon: ReactNode }>> = {
  running: { tone: "accent", icon: <LoaderCircle /> },
  awaiting_human: { tone: "warning", icon: <Hand /> },
  passed: { tone: "success", icon: <CircleCheck /> },
  failed: { tone: "danger", icon: <CircleX /> },
  cancelled: { tone: "neutral", icon: <CircleSlash /> },
};

export interface AttemptProps {
  readonly task: Task;
  readonly review: Review;
  /** Only the newest one can be under way. */
  readonly newest: boolean;
  readonly agents: ReadonlyMap<string, string>;
}

function Took({ review }: { review: Review }) {
  if (review.finished_at === null) {
    return review.status === "running" ? <Elapsed since={review.started_at} /> : null;
  }
  const took = Date.parse(review.finished_at) - Date.parse(review.started_at);
  return <span>{milliseconds(took) ?? duration(took)}</span>;
}

function Facts({ review, newest }: Omit<AttemptProps, "task" | "agents">) {
  const { t } = useTranslation();
  const { steps, reviewed_commit: commit } = review;
  return (
    <span className={parts.facts}>
      {newest && review.status === "running" && steps.length > 0 && (
        <span>
          {t("progress.of", {
            done: steps.filter(({ finished }) => finished).length,
            total: steps.length,
          })}
        </span>
      )}
      <RelativeTime at={review.started_at} />
      <Took review={review} />
      {commit && (
        <span className={styles.commit}>
          <code>{commit.slice(0, 8)}</code>
          <CopyButton
            text={commit}
            label={t("merges.copyCommit", { commit: commit.slice(0, 8) })}
          />
        </span>
      )}
    </span>
  );
}

function Audits({ task, review, newest, agents }: AttemptProps) {
  const { t } = useTranslation();
  const nameOf = (id: string) => agents.get(id) ?? t("task.actor.agentGone");
  const live = newest && isAudited(task, review) ? task.live : null;
  return (
    <>
      {review.audits.map((report, index) => (
        <AuditBlock
          key={report.execution_id}
          taskId={task.id}
          report={report}
          name={nameOf(report.agent_id)}
          askedAgain={
            outcomeOfAudit(report) === "unusable" &&
            (index < review.audits.length - 1 || live !== null)
          }
        />
      ))}
      {live && <LiveAudit taskId={task.id} live={live} name={nameOf(live.agent_id)} />}
    </>
  );
}

/** Ends the checks or the auditor; only where there is something to end, and so are its keys. */
function StopButton({ taskId, action }: { taskId: string; action: Action }) {
  const { t } = useTranslation();
  const { busy, run } = action;
  const commands = useMemo<Command[]>(
    () => [
      {
        id: "review.stop",
        label: t("audit.stopReview"),
        group: t("nav.task"),
        keys: ["shift+s"],
        enabled: busy === null,
        run: () => void run("review_cancel", { task_id: taskId }),
      },
    ],
    [t, busy, run, taskId],
  );
  useCommands(commands);
  return (
    <Button
      size="sm"
      icon={<Square />}
      keys="shift+s"
      busy={busy === "review_cancel"}
      onClick={() => void run("review_cancel", { task_id: taskId })}
    >
      {t("audit.stopReview")}
    </Button>
  );
}

export function Attempt(props: AttemptProps) {
  const { task, review, newest, agents } = props;
  const { t } = useTranslation();
  const platform = usePlatform();
  const action = useAction();
  const { tone, icon } = looks[review.status];
  const title = t("review.attempt", { count: review.attempt_number });
  return (
    <Stack as="section" gap={3} aria-label={title}>
      <header className={parts.head}>
        <h3>{title}</h3>
        <Badge tone={tone} icon={icon}>
          {review.verdict === "pass_ci_only"
            ? t("review.passCiOnly")
            : t(`review.status.${review.status}`)}
        </Badge>
        {review.measures && <MeasureBadges measures={review.measures} />}
        {newest && review.status === "running" && <StopButton taskId={task.id} action={action} />}
        <Facts review={review} newest={newest} />
      </header>
      <ActionError title={t("audit.stopFailed")} error={action.error} onDismiss={action.dismiss} />
      {review.steps.length > 0 ? (
        <CheckList>
          {review.steps.map((step) => (
            <Check key={step.index} taskId={task.id} step={step} />
          ))}
        </CheckList>
      ) : (
        !review.note && <p className={layout.prose}>{t("review.noChecks")}</p>
      )}
      <Audits {...props} />
      {/* What the banner says of the task is said. */}
      {review.note && review.note !== task.error_annotation?.message && (
        <p className={layout.prose}>{review.note}</p>
      )}
      {/* What an auditor decided is said in its own block. */}
      {review.reason && review.audits.every(({ reason }) => reason !== review.reason) && (
        <div className={styles.reason}>
          <Markdown source={review.reason} onLink={(href) => void platform.openExternal(href)} />
        </div>
      )}
      {review.decided_by && (
        <p className={layout.prose}>
          {t("review.decidedBy", { name: actorText(review.decided_by, agents, t) })}
        </p>
      )}
    </Stack>
  );
}
