/** Every move of the task, the newest first, with what ran after it. */
import {
  ArrowRight,
  ChevronRight,
  CircleCheck,
  CircleDashed,
  CircleX,
  CornerDownRight,
  History,
  LoaderCircle,
  SkipForward,
} from "lucide-react";
import { useState, type ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { useOp } from "#ui/api/client.ts";
import type { Task, Transition, TransitionStep, WorkflowView } from "#ui/api/generated.ts";
import { kindOfState } from "#ui/app/stateKinds.ts";
import { Badge } from "#ui/components/Badge.tsx";
import { Button } from "#ui/components/Button.tsx";
import { EmptyState } from "#ui/components/EmptyState.tsx";
import { ErrorState } from "#ui/components/ErrorState.tsx";
import { RelativeTime } from "#ui/components/RelativeTime.tsx";
import { SkeletonText } from "#ui/components/Skeleton.tsx";
import { StateGlyph } from "#ui/components/StateGlyph.tsx";
import { duration } from "#ui/components/time.ts";
import { LogDialog } from "../LogDialog.tsx";
import { milliseconds } from "../numbers.ts";
import { actorText } from "../actor.ts";
import { stateOf } from "../state.ts";
import { useAgentNames } from "../useAgentNames.ts";
import { partSteps, stepMark, words, type StepMark } from "./steps.ts";
import styles from "./Timeline.module.css";

const marks: Readonly<Record<StepMark, ReactNode>> = {
  pending: <CircleDashed />,
  running: <LoaderCircle />,
  ok: <CircleCheck />,
  skipped: <SkipForward />,
  failed: <CircleX />,
  cascade: <CornerDownRight />,
};

function Step({ step, onLog }: { step: TransitionStep; onLog: (log: string) => void }) {
  const { t } = useTranslation();
  const mark = stepMark(step);
  return (
    <li className={styles.step} data-mark={mark}>
      <span className={styles.mark} role="img" aria-label={t(`timeline.step.${mark}`)}>
        {marks[mark]}
      </span>
      <span className={styles.action}>{words(step.action)}</span>
      <span className={styles.phase}>{words(step.phase)}</span>
      {step.reason && <span className={styles.why}>{step.reason}</span>}
      <span className={styles.aside}>
        {step.log_id && (
          <Button size="sm" variant="ghost" onClick={() => onLog(step.log_id ?? "")}>
            {t("timeline.output")}
          </Button>
        )}
        {step.duration_ms !== null &&
          (milliseconds(step.duration_ms) ?? duration(step.duration_ms))}
      </span>
    </li>
  );
}

function Steps({ taskId, steps }: { taskId: string; steps: readonly TransitionStep[] }) {
  const { t } = useTranslation();
  const [all, setAll] = useState(false);
  const [log, setLog] = useState<string | null>(null);
  const { ran, skipped } = partSteps(steps);
  if (steps.length === 0) return null;
  return (
    <>
      <ol className={styles.steps}>
        {(all ? steps : ran).map((step, index) => (
          <Step key={index} step={step} onLog={setLog} />
        ))}
      </ol>
      {skipped.length > 0 && (
        <button
          type="button"
          className={styles.more}
          aria-expanded={all}
          onClick={() => setAll(!all)}
        >
          <ChevronRight aria-hidden />
          {t("timeline.skipped", { count: skipped.length })}
        </button>
      )}
      <LogDialog
        taskId={taskId}
        logId={log}
        title={t("timeline.output")}
        onClose={() => setLog(null)}
      />
    </>
  );
}

function Move({
  task,
  move,
  view,
  agents,
}: {
  task: Task;
  move: Transition;
  view: WorkflowView | undefined;
  agents: ReadonlyMap<string, string>;
}) {
  const { t } = useTranslation();
  const from = stateOf(view?.workflow, move.from);
  const to = stateOf(view?.workflow, move.to);
  return (
    <li className={styles.move}>
      <span className={styles.glyph}>
        <StateGlyph kind={kindOfState(to, view?.workflow.cancellation_state)} label="" />
      </span>
      <div className={styles.body}>
        <p className={styles.head}>
          <span className={styles.from}>{from?.display_name ?? move.from}</span>
          <ArrowRight aria-label={t("timeline.to")} />
          <b>{to?.display_name ?? move.to}</b>
          {move.rejection && <Badge tone="danger">{t("timeline.rejection")}</Badge>}
          <span className={styles.time}>
            <RelativeTime at={move.at} />
          </span>
        </p>
        <p className={styles.who}>
          {t("timeline.by", {
            actor: actorText(move.actor, agents, t),
            trigger: words(move.trigger),
          })}
        </p>
        {move.reason && <p className={styles.reason}>{move.reason}</p>}
        <Steps taskId={task.id} steps={move.steps} />
      </div>
    </li>
  );
}

export function Timeline({ task, view }: { task: Task; view: WorkflowView | undefined }) {
  const { t } = useTranslation();
  const moves = useOp("task_transitions", { task_id: task.id });
  const agents = useAgentNames();
  if (moves.error) {
    return (
      <ErrorState
        title={t("timeline.failed")}
        error={moves.error}
        onRetry={() => void moves.refetch()}
      />
    );
  }
  if (!moves.data) {
    return (
      <div className={styles.timeline} aria-busy>
        <SkeletonText lines={5} />
      </div>
    );
  }
  if (moves.data.items.length === 0) {
    return (
      <EmptyState icon={<History />} title={t("timeline.none")}>
        {t("timeline.noneText")}
      </EmptyState>
    );
  }
  const newestFirst = [...moves.data.items].sort(
    (one, other) => Date.parse(other.at) - Date.parse(one.at),
  );
  return (
    <div className={styles.timeline} data-selectable>
      <ol className={styles.moves}>
        {newestFirst.map((move) => (
          <Move key={move.id} task={task} move={move} view={view} agents={agents} />
        ))}
      </ol>
    </div>
  );
}
