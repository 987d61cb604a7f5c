import {
  CalendarClock,
  CircleCheck,
  CircleDashed,
  CircleDollarSign,
  CircleX,
  Clock,
  CloudOff,
  Crown,
  Flag,
  GitBranch,
  GitMerge,
  GitPullRequest,
  GitPullRequestClosed,
  Hand,
  HardDrive,
  Hourglass,
  Lock,
  MessageCircleQuestion,
  Pause,
  Play,
  Scale,
  Server,
  ServerOff,
  TriangleAlert,
  Undo2,
  Unplug,
  UserRound,
  type LucideIcon,
} from "lucide-react";
import type { TFunction } from "i18next";
import { memo, useState, type KeyboardEvent, type ReactNode } from "react";
import { useTranslation } from "react-i18next";
import type {
  Machine,
  PullRequestLink,
  PullRequestState,
  RaceBadge,
  ReviewBadge,
  Task,
  WaitReason,
} from "#ui/api/generated.ts";
import { MachineBadge } from "#ui/domain/machines/MachineBadge.tsx";
import { mayAsk, useAsk } from "#ui/domain/asks.ts";
import { raceWords } from "#ui/domain/race/words.ts";
import { priorityLevel, priorityNumber } from "#ui/domain/priority.ts";
import type { KnownState } from "#ui/domain/useStates.ts";
import { Avatar } from "#ui/components/Avatar.tsx";
import { Countdown, Elapsed } from "#ui/components/Elapsed.tsx";
import { PriorityGlyph } from "#ui/components/PriorityGlyph.tsx";
import { RelativeTime } from "#ui/components/RelativeTime.tsx";
import { StateGlyph } from "#ui/components/StateGlyph.tsx";
import { IssueMark } from "./IssueMark.tsx";
import { KinNumbers, ParentMark } from "./Kin.tsx";
import { Serves } from "./Serves.tsx";
import { useActivity } from "./useActivity.ts";
import { count, kindOf, lineOf, lineTone, money, type Line } from "./format.ts";
import { Truncate } from "#ui/components/Truncate.tsx";
import styles from "./Card.module.css";

export interface CardFaceProps {
  readonly task: Task;
  readonly state: KnownState | undefined;
  /** Who works on it, or is to. */
  readonly agent: string | null;
  /** Where its worktree is; absent on this computer. */
  readonly machine?: Machine | undefined;
  /** Named where a column holds more than one state and this is not the one that it is called after. */
  readonly showState: boolean;
  /** Typing replaces the title. */
  readonly onRename?: ((title: string | null) => void) | undefined;
}

const waitIcons: Readonly<Record<WaitReason, ReactNode>> = {
  undo: <Undo2 />,
  agent_busy: <Clock />,
  project_busy: <Clock />,
  paused: <Pause />,
  held: <Hand />,
  target_checkout_dirty: <TriangleAlert />,
  git_locked: <Lock />,
  rate_limited: <Hourglass />,
  workspace_locked: <Lock />,
  dependency_open: <CircleDashed />,
  merge_queue: <Clock />,
  awaiting_merge: <GitPullRequest />,
  host_unreachable: <CloudOff />,
  no_machine: <ServerOff />,
  machine_busy: <Server />,
  machine_quota: <Hourglass />,
  machine_unreachable: <Unplug />,
  job_pending: <CalendarClock />,
  machine_disk_full: <HardDrive />,
  cost_limit: <CircleDollarSign />,
  race_running: <Flag />,
  race_crown: <Crown />,
  start_required: <Play />,
};

const pullGlyphs: Readonly<Record<PullRequestState, LucideIcon>> = {
  open: GitPullRequest,
  merged: GitMerge,
  closed: GitPullRequestClosed,
};

function Activity({ task, activity }: { task: Task; activity: string }) {
  const { t } = useTranslation();
  const now = useActivity(task.id, activity);
  return (
    <>
      <span className={styles.pulse} aria-hidden />
      <Truncate>{now || t("board.line.working")}</Truncate>
    </>
  );
}

/** An auditor at work: said in a word, since its avatar alone does not tell it from the coder. */
function Auditing({ task, activity }: { task: Task; activity: string }) {
  const { t } = useTranslation();
  const now = useActivity(task.id, activity);
  return (
    <>
      <Scale aria-hidden />
      <Truncate>
        {t("roleBadge.auditor")}
        {now && `: ${now}`}
      </Truncate>
    </>
  );
}

/** Its pull request. Closed and merged ones are told from open ones by their glyph. */
function PullMark({ pull }: { pull: PullRequestLink }) {
  const { t } = useTranslation();
  const said = t(`roleBadge.pull.${pull.state}`, { number: pull.number });
  const Glyph = pullGlyphs[pull.state];
  return (
    <span className={styles.pull} role="img" aria-label={said} title={said} data-state={pull.state}>
      <Glyph aria-hidden />
      {pull.number}
    </span>
  );
}

/** Its race: how far it is, or that it is decided; in words to whoever asks. */
function RaceMark({ raced }: { raced: RaceBadge }) {
  const { t } = useTranslation();
  const said = raceWords(raced, t);
  const won = raced.status === "promoted" || raced.status === "decided";
  return (
    <span
      className={styles.race}
      role="img"
      aria-label={said}
      title={said}
      data-status={raced.status}
    >
      {won || raced.status === "awaiting_crown" ? <Crown aria-hidden /> : <Flag aria-hidden />}
      {raced.status === "running" ? (
        `${raced.over}/${raced.entries}`
      ) : (
        <span className={styles.winner}>{raced.winner}</span>
      )}
    </span>
  );
}

/** What a card says itself: how far its race is, or its machine, stands beside its number. */
function waitWords(reason: string, t: TFunction): string | null {
  if (reason === "race_running") return t("board.line.racing");
  if (reason === "race_crown") return t("board.line.chooseWinner");
  if (reason === "start_required") return t("task.waits.start_required");
  if (reason === "no_machine") return t("task.waits.no_machine");
  if (reason === "machine_unreachable") return t("machines.contact.unreachable");
  if (reason === "job_pending") return t("task.waits.job_pending");
  if (reason === "machine_disk_full") return t("task.waits.machine_disk_full");
  return null;
}

function LineText({ task, line }: { task: Task; line: Line }) {
  const { t } = useTranslation();
  const say = (icon: ReactNode, text: ReactNode) => (
    <>
      {icon}
      <Truncate>{text}</Truncate>
    </>
  );
  switch (line.kind) {
    case "live":
      return <Activity task={task} activity={line.activity} />;
    case "auditing":
      return <Auditing task={task} activity={line.activity} />;
    case "undo":
      return say(
        <Undo2 />,
        <>
          {t("board.line.undo")} <Countdown until={line.until} />
        </>,
      );
    case "waiting":
      return say(
        waitIcons[line.reason as WaitReason],
        <span title={line.text}>{waitWords(line.reason, t) ?? line.text}</span>,
      );
    case "trouble":
      return say(
        <TriangleAlert />,
        // Which guard it was, and why, is what one task differs from another in.
        <span title={line.text}>
          {line.type === "guard_rejected" ? line.text : t(`task.trouble.${line.type}`)}
        </span>,
      );
    case "awaiting":
      return say(<UserRound />, t("board.line.awaiting"));
    case "asks":
      return say(
        <MessageCircleQuestion />,
        <span title={line.title}>{t("board.line.asks", { title: line.title })}</span>,
      );
    case "checks":
      return say(<CircleDashed />, t("board.line.checks"));
    case "held":
      return say(<Hand />, t("board.line.held"));
    case "unmerged": {
      const { byHand, commits } = line;
      const text = t(byHand ? "board.line.closedUnmerged" : "board.line.unmerged", {
        count: commits,
      });
      const branch = `forge/${task.id}`;
      const stays = byHand && commits > 0 ? t("board.line.stay", { count: commits, branch }) : text;
      return say(<GitBranch />, <span title={stays}>{text}</span>);
    }
    case "none":
      return null;
  }
}

function ReviewMark({ review }: { review: ReviewBadge }) {
  const { t } = useTranslation();
  if (review.status !== "passed" && review.status !== "failed") return null;
  const passed = review.status === "passed";
  return (
    <span
      className={styles.review}
      data-tone={passed ? "success" : "danger"}
      role="img"
      aria-label={t(passed ? "board.review.passed" : "board.review.failed", {
        attempt: review.attempt_number,
      })}
    >
      {passed ? <CircleCheck /> : <CircleX />}
    </span>
  );
}

function Numbers({ task }: { task: Task }) {
  const { t } = useTranslation();
  const { diff_stat: diff, usage } = task;
  const locale = navigator.language;
  const cost = usage.cost_micro_usd;
  return (
    <span className={styles.numbers}>
      <KinNumbers task={task} />
      {diff && diff.added + diff.removed > 0 && (
        <span
          role="img"
          aria-label={t("board.diff", {
            count: diff.added,
            added: diff.added,
            removed: diff.removed,
          })}
          className={styles.diff}
        >
          <span className={styles.added}>+{count(diff.added, locale)}</span>
          <span className={styles.removed}>−{count(diff.removed, locale)}</span>
        </span>
      )}
      {cost !== null && (
        <span
          className={styles.cost}
          title={usage.runs_of_unknown_cost > 0 ? t("board.costPartly") : t("board.cost")}
        >
          <span>
            {money(cost, locale)}
            {usage.runs_of_unknown_cost > 0 && "+"}
          </span>
        </span>
      )}
      {task.raced && <RaceMark raced={task.raced} />}
      {task.pull_request && <PullMark pull={task.pull_request} />}
      {task.review && <ReviewMark review={task.review} />}
    </span>
  );
}

function TitleField({
  title,
  onRename,
}: {
  title: string;
  onRename: NonNullable<CardFaceProps["onRename"]>;
}) {
  const { t } = useTranslation();
  const [text, setText] = useState(title);
  const end = (next: string | null) => {
    const trimmed = next?.trim() ?? "";
    onRename(trimmed === "" || trimmed === title ? null : trimmed);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    event.stopPropagation();
    if (event.key === "Escape") end(null);
    if (event.key === "Enter" && !event.nativeEvent.isComposing) {
      event.preventDefault();
      end(text);
    }
  };
  return (
    <textarea
      dir="auto"
      className={styles.edit}
      aria-label={t("board.editTitle")}
      rows={2}
      autoFocus
      value={text}
      onFocus={(event) => event.currentTarget.select()}
      onChange={(event) => setText(event.currentTarget.value.replaceAll("\n", " "))}
      onKeyDown={onKeyDown}
      onBlur={() => end(text)}
    />
  );
}

/** What is on a card. Drawn in its column, and under the pointer while it is dragged. */
export const CardFace = memo(function CardFace({
  task,
  state,
  agent,
  machine,
  showState,
  onRename,
}: CardFaceProps) {
  const { t } = useTranslation();
  const level = priorityLevel(task.priority);
  const ask = useAsk(task.id, mayAsk(task));
  const line = lineOf(task, state, ask);
  const live = task.live !== null;
  return (
    <>
      <div className={styles.head}>
        <StateGlyph kind={kindOf(task, state)} live={live} label={state?.display_name ?? ""} />
        <span className={styles.number}>#{task.number}</span>
        {task.parent_id !== null && <ParentMark id={task.parent_id} />}
        {task.issue && <IssueMark issue={task.issue} />}
        {showState && <span className={styles.state}>{state?.display_name}</span>}
        {machine && (
          <span className={styles.machine}>
            <MachineBadge machine={machine} />
          </span>
        )}
        {level !== "none" && (
          <PriorityGlyph level={priorityNumber(level) as 1} label={t(`board.priority.${level}`)} />
        )}
        <Serves taskId={task.id} />
        <Numbers task={task} />
      </div>
      {onRename ? (
        <TitleField title={task.title} onRename={onRename} />
      ) : (
        <p dir="auto" className={styles.title}>
          {task.title}
        </p>
      )}
      <div className={styles.foot}>
        {agent !== null && <Avatar name={agent} size={16} live={live} />}
        <span className={styles.line} data-tone={lineTone(line)} data-kind={line.kind}>
          {line.kind === "none" ? (
            <Truncate>{agent}</Truncate>
          ) : (
            <LineText task={task} line={line} />
          )}
        </span>
        <span className={styles.time}>
          {task.live ? (
            <Elapsed since={task.live.started_at} />
          ) : (
            <RelativeTime at={task.status_since} />
          )}
        </span>
      </div>
    </>
  );
});
