/** One entry of a race: who, where it is, what is known of it, and what can be done about it. */
import {
  CircleCheck,
  CircleX,
  Crown,
  FileDiff,
  MessageCircleQuestion,
  MessagesSquare,
  Minus,
  TimerOff,
} from "lucide-react";
import { useState, type ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { useOp } from "#ui/api/client.ts";
import type { GateResult, Race, RaceEntry, Task } from "#ui/api/generated.ts";
import { useAsk } from "#ui/domain/asks.ts";
import { AlertDialog } from "#ui/components/AlertDialog.tsx";
import { Avatar } from "#ui/components/Avatar.tsx";
import { Button } from "#ui/components/Button.tsx";
import { DiffCount } from "#ui/components/DiffCount.tsx";
import { Elapsed } from "#ui/components/Elapsed.tsx";
import { Said } from "#ui/components/Said.tsx";
import { duration } from "#ui/components/time.ts";
import { ActionError } from "../ActionError.tsx";
import { money } from "../numbers.ts";
import { useAction } from "../useAction.ts";
import type { View } from "./EntryView.tsx";
import { EntryMark } from "./EntryMark.tsx";
import { pickOffer, isOver, isTakeable, isWinner, limitOf } from "./race.ts";
import { Truncate } from "#ui/components/Truncate.tsx";
import layout from "#ui/components/layout.module.css";
import styles from "./Race.module.css";

const gateIcons: Readonly<Record<GateResult, ReactNode>> = {
  passed: <CircleCheck />,
  failed: <CircleX />,
  timed_out: <TimerOff />,
  not_run: <Minus />,
};

export interface LaneProps {
  readonly task: Task;
  readonly race: Race;
  readonly entry: RaceEntry;
  /** Its agent's name; none when the agent is gone. */
  readonly agent: string | undefined;
  /** Whether it is in the race that counts. */
  readonly newest: boolean;
  /** The button that takes the focus: the person comes back from what it leads to. */
  readonly focus: View | null;
  readonly onShow: (view: View) => void;
}

/** What an entry at work does this moment. */
function Now({ entry, onShow }: { entry: RaceEntry; onShow: () => void }) {
  const { t } = useTranslation();
  const task = useOp(
    "task_get",
    { task_id: entry.task_id },
    { tags: [`activity:${entry.task_id}`] },
  ).data;
  const asked = useAsk(entry.task_id, true);
  if (asked !== null) {
    return (
      <div className={styles.asks}>
        <MessageCircleQuestion aria-hidden />
        <Truncate fill>{t("race.now.asks", { title: asked })}</Truncate>
        <Button size="sm" onClick={onShow}>
          {t("race.answer")}
        </Button>
      </div>
    );
  }
  const live = task?.live;
  const text =
    live?.role === "reviewer"
      ? t("race.now.reviewer")
      : live
        ? live.activity || t("task.working")
        : task?.review?.status === "running"
          ? t("race.now.checks")
          : (task?.waiting?.message ?? t("race.now.starts"));
  return (
    <p className={styles.now}>
      <span className={styles.pulse} aria-hidden />
      <Truncate fill title={text}>
        {text}
      </Truncate>
    </p>
  );
}

function Gate({ entry }: { entry: RaceEntry }) {
  const { t } = useTranslation();
  const { gate, status } = entry;
  if (gate === "not_run" && (status === "running" || status === "queued")) return t("race.notYet");
  return (
    <span className={styles.gate} data-gate={gate}>
      {gateIcons[gate]}
      {gate === "not_run" && entry.checks === 0 ? t("race.noChecks") : t(`race.gate.${gate}`)}
    </span>
  );
}

function Took({ race, entry }: { race: Race; entry: RaceEntry }) {
  const { t } = useTranslation();
  if (entry.status === "running" && entry.started_at !== null) {
    return (
      <>
        <Elapsed since={entry.started_at} />{" "}
        <span className={layout.note}>{t("race.timeOf", { limit: limitOf(race) })}</span>
      </>
    );
  }
  return entry.duration_ms === null ? t("race.notYet") : duration(entry.duration_ms);
}

function Changed({ entry }: { entry: RaceEntry }) {
  const { t } = useTranslation();
  const { diff_stat: diff, status } = entry;
  if (diff === null || diff.files === 0) {
    return t(isOver({ status }) ? "race.noChanges" : "race.notYet");
  }
  return (
    <span className={styles.diff}>
      {t("diff.files", { count: diff.files })}
      <DiffCount added={diff.added} removed={diff.removed} />
    </span>
  );
}

function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

function Facts({ race, entry }: { race: Race; entry: RaceEntry }) {
  const { t } = useTranslation();
  const { score, cost_micro_usd: cost } = entry;
  return (
    <dl className={styles.facts}>
      <Fact name={t("race.fact.gate")}>
        <Gate entry={entry} />
      </Fact>
      {race.reviewer_enabled && (
        <Fact name={t("race.fact.score")}>
          {score === null ? t("race.notYet") : t("race.scoreOf", { score: Math.round(score) })}
        </Fact>
      )}
      <Fact name={t("race.fact.cost")}>
        {cost === null ? t(isOver(entry) ? "race.unknown" : "race.notYet") : money(cost)}
      </Fact>
      <Fact name={t("race.fact.time")}>
        <Took race={race} entry={entry} />
      </Fact>
      <Fact name={t("race.fact.changes")}>
        <Changed entry={entry} />
      </Fact>
    </dl>
  );
}

/** Picks the entry as winner, after the person confirms. */
function PickButton({ task, race, entry }: Pick<LaneProps, "task" | "race" | "entry">) {
  const { t } = useTranslation();
  const action = useAction();
  const [asking, setAsking] = useState(false);
  const { strategy: name } = entry;
  const { elected, keep_losers_days: count } = race;
  const pick = async () => {
    const done = await action.run("task_action", {
      task_id: task.id,
      verb: "crown",
      version: task.version,
      entry: name,
      wait: "none",
    });
    setAsking(false);
    return done;
  };
  const more =
    race.winner !== null && elected !== null && elected !== name
      ? t("race.pickOther", { elected, count })
      : entry.gate === "passed"
        ? t("race.pickRest", { count })
        : entry.gate === "not_run"
          ? t("race.pickUnchecked", { count })
          : t("race.pickFailed");
  return (
    <>
      <Button
        size="sm"
        variant={isWinner(race, entry) ? "primary" : "secondary"}
        icon={<Crown />}
        className={styles.pick}
        aria-label={t("race.pickLane", { name })}
        onClick={() => setAsking(true)}
      >
        {t("race.pick")}
      </Button>
      <AlertDialog
        open={asking}
        onOpenChange={setAsking}
        title={t("race.pickTitle", { name })}
        description={`${t("race.pickText")} ${more}`}
        confirmLabel={t("race.pickOf", { name })}
        busy={action.busy !== null}
        onConfirm={() => void pick()}
      />
      <ActionError title={t("task.actionFailed")} error={action.error} onDismiss={action.dismiss} />
    </>
  );
}

export function Lane({ task, race, entry, agent, newest, focus, onShow }: LaneProps) {
  const { t } = useTranslation();
  const { strategy: name } = entry;
  const pickable = newest && pickOffer(task) !== null && isTakeable(race, entry);
  const program = [entry.model, entry.effort].filter(Boolean).join(" · ");
  const begun = entry.status !== "queued";
  return (
    <li
      className={styles.lane}
      aria-label={t("race.lane", { name })}
      data-winner={
        isWinner(race, entry) ? (race.status === "awaiting_crown" ? "elected" : "won") : undefined
      }
    >
      <header className={styles.laneHead}>
        <h3 className={styles.name} title={name}>
          {name}
        </h3>
        <EntryMark race={race} entry={entry} />
      </header>
      <p className={styles.who}>
        <Avatar name={agent ?? t("race.agentGone")} size={16} live={entry.status === "running"} />
        <Truncate>
          {agent ?? t("race.agentGone")}
          {program && <span className={layout.note}> {program}</span>}
        </Truncate>
      </p>
      <div className={styles.notes}>
        {entry.prompt_suffix && (
          <p className={styles.suffix} title={entry.prompt_suffix}>
            <span className="visually-hidden">{t("race.suffix")}: </span>“{entry.prompt_suffix}”
          </p>
        )}
        {entry.status === "running" && <Now entry={entry} onShow={() => onShow("conversation")} />}
      </div>
      <Facts race={race} entry={entry} />
      <div className={styles.laneEnd}>
        {entry.reason && entry.status !== "timed_out" && (
          <div className={styles.reason}>
            <Said text={entry.reason} />
          </div>
        )}
        <footer className={styles.laneFoot}>
          {begun && (
            <>
              <Button
                size="sm"
                variant="ghost"
                icon={<FileDiff />}
                aria-label={t("race.changesOf", { name })}
                autoFocus={focus === "changes"}
                onClick={() => onShow("changes")}
              >
                {t("race.changes")}
              </Button>
              <Button
                size="sm"
                variant="ghost"
                icon={<MessagesSquare />}
                aria-label={t("race.conversationOf", { name })}
                autoFocus={focus === "conversation"}
                onClick={() => onShow("conversation")}
              >
                {t("race.conversation")}
              </Button>
            </>
          )}
          {pickable && <PickButton task={task} race={race} entry={entry} />}
        </footer>
      </div>
    </li>
  );
}
