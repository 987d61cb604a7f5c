/** Every move of the task with what ran after it; what it led to by itself stands below it, indented. */
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
  Webhook,
} from "lucide-react";
import { useState, type CSSProperties, type ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { useOp } from "#ui/api/client.ts";
import type { Task, Transition, TransitionStep, WorkflowView } from "#ui/api/generated.ts";
import { kindOfState } from "#ui/domain/stateKinds.ts";
import { Badge } from "#ui/components/Badge.tsx";
import { Button } from "#ui/components/Button.tsx";
import { EmptyState } from "#ui/components/EmptyState.tsx";
import { ErrorState } from "#ui/components/ErrorState.tsx";
import { RelativeTime } from "#ui/components/RelativeTime.tsx";
import { Said } from "#ui/components/Said.tsx";
import { SkeletonText } from "#ui/components/Skeleton.tsx";
import { StateGlyph } from "#ui/components/StateGlyph.tsx";
import { duration } from "#ui/components/time.ts";
import { LogView } from "../LogView.tsx";
import { milliseconds } from "../numbers.ts";
import { actorText } from "../actor.ts";
import { stateOf } from "#ui/domain/steps.ts";
import { useAgentNames } from "../useAgentNames.ts";
import {
  actionText,
  chainsOf,
  hookOf,
  partSteps,
  stepMark,
  words,
  type StepMark,
} from "./steps.ts";
import { TaskAnomalies } from "./TaskAnomalies.tsx";
import { Stack } from "#ui/components/Stack.tsx";
import layout from "#ui/components/layout.module.css";
import styles from "./Timeline.module.css";

const marks: Readonly<Record<StepMark, ReactNode>> = {
  pending: <CircleDashed />,
  running: <LoaderCircle />,
  ok: <CircleCheck />,
  skipped: <SkipForward />,
  failed: <CircleX />,
  cascade: <CornerDownRight />,
};

/** One step; its output unfolds below it. */
function Step({ taskId, step }: { taskId: string; step: TransitionStep }) {
  const { t } = useTranslation();
  const mark = stepMark(step);
  const logId = step.log_id;
  const isHook = hookOf(step) !== null;
  // What runs now is followed from the start: set-up and checks take their time.
  const [open, setOpen] = useState(mark === "running" && logId !== null);
  const name = actionText(step, t);
  return (
    <Stack as="li">
      <div className={styles.step} data-mark={mark}>
        <span className={styles.mark} role="img" aria-label={t(`timeline.step.${mark}`)}>
          {marks[mark]}
        </span>
        <span className={styles.action}>{name}</span>
        {isHook ? (
          <span className={styles.hook}>
            <Webhook aria-hidden />
            <code>{step.action}</code>
          </span>
        ) : (
          <span className={layout.faint}>{words(step.phase)}</span>
        )}
        {step.reason && (
          <span className={styles.why}>
            <Said text={step.reason} />
          </span>
        )}
        <span className={styles.aside}>
          {logId !== null && (
            <Button
              size="sm"
              variant="ghost"
              aria-expanded={open}
              aria-label={t("timeline.openLog", { name })}
              onClick={() => setOpen(!open)}
            >
              {t("timeline.output")}
            </Button>
          )}
          {/* What took no time to speak of says nothing about it. */}
          {step.duration_ms !== null &&
            step.duration_ms > 0 &&
            (milliseconds(step.duration_ms) ?? duration(step.duration_ms))}
        </span>
      </div>
      {open && logId !== null && (
        <div className={styles.log}>
          <LogView taskId={taskId} logId={logId} look="inline" />
        </div>
      )}
    </Stack>
  );
}

function Steps({ taskId, steps }: { taskId: string; steps: readonly TransitionStep[] }) {
  const { t } = useTranslation();
  const [all, setAll] = useState(false);
  const { ran, skipped } = partSteps(steps);
  if (steps.length === 0) return null;
  return (
    <>
      <ol className={styles.steps}>
        {steps.map((step, index) =>
          all || ran.includes(step) ? <Step key={index} taskId={taskId} step={step} /> : null,
        )}
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
    </>
  );
}

const indent = (depth: number) => ({ "--depth": depth }) as CSSProperties;

function Move({
  task,
  move,
  depth,
  view,
  agents,
}: {
  task: Task;
  move: Transition;
  /** How many moves in a row led here by themselves. */
  depth: number;
  view: WorkflowView | undefined;
  agents: ReadonlyMap<string, string>;
}) {
  const { t } = useTranslation();
  const from = stateOf(view?.workflow, move.from);
  const to = stateOf(view?.workflow, move.to);
  return (
    <li className={styles.move} data-depth={depth || undefined} style={indent(depth)}>
      {depth > 0 && (
        <span className={styles.bend} role="img" aria-label={t("timeline.cascade")}>
          <CornerDownRight />
        </span>
      )}
      <span className={styles.glyph}>
        <StateGlyph kind={kindOfState(to, view?.workflow.cancellation_state)} label="" />
      </span>
      <Stack gap={0} fill>
        <p className={styles.head}>
          <span className={layout.soft}>{from?.display_name ?? move.from}</span>
          <ArrowRight aria-label={t("timeline.to")} />
          <b>{to?.display_name ?? move.to}</b>
          {move.rejection && <Badge tone="danger">{t("timeline.rejection")}</Badge>}
          <span className={styles.time}>
            <RelativeTime at={move.at} />
          </span>
        </p>
        <p className={layout.note}>
          {t("timeline.by", {
            actor: actorText(move.actor, agents, t),
            trigger: words(move.trigger),
          })}
        </p>
        {move.reason && (
          <p className={layout.prose}>
            <Said text={move.reason} />
          </p>
        )}
        <Steps taskId={task.id} steps={move.steps} />
      </Stack>
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
  return (
    <div className={styles.timeline} data-selectable>
      <TaskAnomalies task={task} />
      <ol className={styles.moves}>
        {chainsOf(moves.data.items).map(({ move, depth }) => (
          <Move key={move.id} task={task} move={move} depth={depth} view={view} agents={agents} />
        ))}
      </ol>
    </div>
  );
}
