/** The race of a task: entries side by side, how it was decided, and what each of them did. */
import { Flag } from "lucide-react";
import { useState, type ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { useOp } from "#ui/api/client.ts";
import type { Race, Task } from "#ui/api/generated.ts";
import { Estimate } from "#ui/domain/race/Estimate.tsx";
import { InnerLoopLink } from "#ui/app/InnerLoopLink.tsx";
import { CopyButton } from "#ui/components/CopyButton.tsx";
import { EmptyState } from "#ui/components/EmptyState.tsx";
import { ErrorState } from "#ui/components/ErrorState.tsx";
import { RelativeTime } from "#ui/components/RelativeTime.tsx";
import { Select } from "#ui/components/Select.tsx";
import { Skeleton } from "#ui/components/Skeleton.tsx";
import { mayAsk } from "#ui/domain/asks.ts";
import { Asks, useApprovals } from "../approvals/Asks.tsx";
import { useAgentNames } from "../useAgentNames.ts";
import { EntryView, type Shown } from "./EntryView.tsx";
import { Lane } from "./Lane.tsx";
import { limitOf, standOf } from "./race.ts";
import { Trail } from "./Trail.tsx";
import layout from "#ui/components/layout.module.css";
import styles from "./Race.module.css";

export interface RaceTabProps {
  readonly task: Task;
  /** What starts the work, while nothing has begun. */
  readonly start?: ReactNode;
}

/** The task's races; what happens to an entry changes them, too. */
function useRaces(task: string) {
  const [entries, setEntries] = useState<readonly string[]>([]);
  const races = useOp(
    "task_races",
    { task_id: task },
    { tags: entries.map((entry) => `task:${entry}`) },
  );
  const last = races.data?.items.at(-1);
  const now = last?.entries.map((entry) => entry.task_id) ?? [];
  if (now.join() !== entries.join()) setEntries(now);
  return races;
}

function Empty({ task, start }: RaceTabProps) {
  const { t } = useTranslation();
  const loop = useOp("project_inner_loop", { project_id: task.project_id }).data;
  const races = loop?.config.competitive;
  const strategies = task.race?.strategies ?? races?.strategies ?? [];
  const isOff = races?.enabled === false;
  return (
    <EmptyState
      icon={<Flag />}
      title={t("race.none")}
      actions={
        isOff ? undefined : (
          <div className={styles.begin}>
            <span className={layout.note}>
              <Estimate taskId={task.id} />
            </span>
            {start}
          </div>
        )
      }
    >
      {isOff ? (
        <>
          {t("race.off")} <InnerLoopLink projectId={task.project_id} />
        </>
      ) : strategies.length > 0 ? (
        t("race.noneText", { count: strategies.length })
      ) : (
        t("race.noneEvery")
      )}
    </EmptyState>
  );
}

function Head({
  race,
  races,
  onRace,
}: {
  race: Race;
  races: readonly Race[];
  onRace: (number: number) => void;
}) {
  const { t } = useTranslation();
  const base = race.base_commit.slice(0, 8);
  return (
    <header className={styles.head}>
      {races.length > 1 && (
        <Select
          size="sm"
          hideLabel
          label={t("race.which")}
          value={String(race.number)}
          options={races.map(({ number }) => ({
            value: String(number),
            label: t("race.number", { number }),
          }))}
          onChange={(number) => onRace(Number(number))}
        />
      )}
      <p className={styles.stand} role="status">
        {standOf(race, t)}
      </p>
      <ul className={styles.terms}>
        <li>
          {t("race.limits", {
            count: race.max_parallel,
            time: limitOf(race),
          })}
        </li>
        {race.reviewer_enabled && <li>{t("race.scores")}</li>}
        {race.human_crown && <li>{t("race.personPicks")}</li>}
        <li className={styles.commit}>
          {t("race.base", { commit: base })}
          <CopyButton text={race.base_commit} label={t("race.copyBase", { commit: base })} />
        </li>
        <li>
          <RelativeTime at={race.started_at} />
        </li>
      </ul>
    </header>
  );
}

function Loading() {
  return (
    <div className={styles.race} aria-busy>
      <Skeleton width="40%" />
      <div className={styles.lanes}>
        <Skeleton height={220} />
        <Skeleton height={220} />
      </div>
    </div>
  );
}

export function RaceTab({ task, start }: RaceTabProps) {
  const { t } = useTranslation();
  const read = useRaces(task.id);
  const agents = useAgentNames();
  const asked = useApprovals(task.id, mayAsk(task));
  const [chosen, setChosen] = useState<number | null>(null);
  const [shown, setShown] = useState<Shown | null>(null);
  // Where the focus goes back to.
  const [left, setLeft] = useState<Shown | null>(null);
  if (read.error) {
    return (
      <ErrorState title={t("race.failed")} error={read.error} onRetry={() => void read.refetch()} />
    );
  }
  if (!read.data) return <Loading />;
  const races = read.data.items;
  const last = races.at(-1);
  const race = races.find(({ number }) => number === chosen) ?? last;
  if (!race) return <Empty task={task} start={start} />;
  const entry = race.entries.find(({ task_id: id }) => id === shown?.entry);
  if (entry && shown) {
    return (
      <EntryView
        race={race}
        entry={entry}
        view={shown.view}
        onView={(view) => setShown({ ...shown, view })}
        onBack={() => {
          setLeft(shown);
          setShown(null);
        }}
      />
    );
  }
  return (
    <div className={styles.race} data-selectable>
      <Head race={race} races={races} onRace={setChosen} />
      <Asks
        pending={asked.pending}
        names={agents}
        tab="race"
        onStale={() => void asked.refetch()}
      />
      <ul className={styles.lanes} aria-label={t("race.entries")}>
        {race.entries.map((each) => (
          <Lane
            key={each.task_id}
            task={task}
            race={race}
            entry={each}
            agent={agents.get(each.agent_id)}
            newest={race === last}
            focus={left?.entry === each.task_id ? left.view : null}
            onShow={(view) => setShown({ entry: each.task_id, view })}
          />
        ))}
      </ul>
      <Trail race={race} />
    </div>
  );
}
