/** What one entry of a race did: its changes, or what was said and done. It is a task of its own. */
import { ArrowLeft, FileDiff } from "lucide-react";
import { lazy, Suspense, useState } from "react";
import { useTranslation } from "react-i18next";
import { call, useOp } from "#ui/api/client.ts";
import type { Race, RaceEntry, Task } from "#ui/api/generated.ts";
import { Button } from "#ui/components/Button.tsx";
import { EmptyState } from "#ui/components/EmptyState.tsx";
import { ErrorState } from "#ui/components/ErrorState.tsx";
import { SegmentedControl } from "#ui/components/SegmentedControl.tsx";
import { SkeletonText } from "#ui/components/Skeleton.tsx";
import { usePlatform } from "#ui/platform/PlatformContext.tsx";
import { Conversation } from "../conversation/Conversation.tsx";
import { createLogStore } from "../conversation/logStore.ts";
import { createUnfolded } from "../conversation/RowContext.ts";
import { EntryMark } from "./EntryMark.tsx";
import { isForgotten } from "./race.ts";
import layout from "#ui/components/layout.module.css";
import styles from "./Race.module.css";

const DiffTab = lazy(() => import("../diff/DiffTab.tsx"));

export type View = "changes" | "conversation";

/** Which entry is looked at, and what of it. */
export interface Shown {
  readonly entry: string;
  readonly view: View;
}

export interface EntryViewProps {
  readonly race: Race;
  readonly entry: RaceEntry;
  readonly view: View;
  readonly onView: (view: View) => void;
  readonly onBack: () => void;
}

function Loading() {
  return (
    <div className={styles.loading} aria-busy>
      <SkeletonText lines={6} />
    </div>
  );
}

/** What an entry's agent said and did. */
export function EntryConversation({ task }: { task: Task }) {
  const platform = usePlatform();
  const [store] = useState(() =>
    createLogStore((log, page) => call(platform, "execution_logs", { execution_id: log, ...page })),
  );
  const [unfolded] = useState(createUnfolded);
  return <Conversation task={task} store={store} unfolded={unfolded} />;
}

function Body({ race, entry, view }: Pick<EntryViewProps, "race" | "entry" | "view">) {
  const { t } = useTranslation();
  const task = useOp("task_get", { task_id: entry.task_id });
  if (task.error) {
    return (
      <ErrorState
        title={t("race.entryFailed")}
        error={task.error}
        onRetry={() => void task.refetch()}
      />
    );
  }
  if (!task.data) return <Loading />;
  if (view === "conversation") return <EntryConversation key={entry.task_id} task={task.data} />;
  if (isForgotten(race, entry)) {
    return (
      <EmptyState icon={<FileDiff />} title={t("race.gone")}>
        {t("race.goneText", { count: race.keep_losers_days })}
      </EmptyState>
    );
  }
  return (
    <Suspense fallback={<Loading />}>
      <DiffTab key={entry.task_id} task={task.data} />
    </Suspense>
  );
}

export function EntryView({ race, entry, view, onView, onBack }: EntryViewProps) {
  const { t } = useTranslation();
  const { strategy: name } = entry;
  return (
    <section className={layout.column} aria-label={t("race.lane", { name })}>
      <div className={styles.entryBar}>
        {/* It was come to by a button that is gone now. */}
        <Button size="sm" variant="ghost" icon={<ArrowLeft />} autoFocus onClick={onBack}>
          {t("race.back")}
        </Button>
        <h3 className={styles.entryName}>{name}</h3>
        <EntryMark race={race} entry={entry} />
        <span className={layout.fill} />
        <SegmentedControl<View>
          label={t("race.view", { name })}
          value={view}
          segments={[
            { value: "changes", label: t("race.changes") },
            { value: "conversation", label: t("race.conversation") },
          ]}
          onChange={onView}
        />
      </div>
      <div className={styles.entryBody}>
        <Body race={race} entry={entry} view={view} />
      </div>
    </section>
  );
}
