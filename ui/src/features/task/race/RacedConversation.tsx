/** The conversation of a raced task: its winner's, once there is one. */
import { MessagesSquare } from "lucide-react";
import { useTranslation } from "react-i18next";
import { useOp } from "#ui/api/client.ts";
import type { Task } from "#ui/api/generated.ts";
import { Button } from "#ui/components/Button.tsx";
import { EmptyState } from "#ui/components/EmptyState.tsx";
import { ErrorState } from "#ui/components/ErrorState.tsx";
import { SkeletonText } from "#ui/components/Skeleton.tsx";
import { showTab } from "../go.ts";
import { EntryConversation } from "./EntryView.tsx";
import { isWinner } from "./race.ts";
import layout from "#ui/components/layout.module.css";
import styles from "./Race.module.css";

function Winner({ taskId, name }: { taskId: string; name: string }) {
  const { t } = useTranslation();
  const task = useOp("task_get", { task_id: taskId });
  if (task.error) {
    return (
      <ErrorState
        title={t("race.entryFailed")}
        error={task.error}
        onRetry={() => void task.refetch()}
      />
    );
  }
  if (!task.data) return <SkeletonText lines={6} />;
  return (
    <section className={layout.column} aria-label={t("race.lane", { name })}>
      <div className={styles.entryBar}>
        <span className={layout.faint}>{t("conversation.ofWinner", { name })}</span>
        <span className={layout.fill} />
        <Button size="sm" variant="ghost" onClick={() => showTab("race")}>
          {t("race.open")}
        </Button>
      </div>
      <EntryConversation task={task.data} />
    </section>
  );
}

export function RacedConversation({ task }: { task: Task }) {
  const { t } = useTranslation();
  const races = useOp("task_races", { task_id: task.id });
  if (races.error) {
    return (
      <ErrorState
        title={t("conversation.failed")}
        error={races.error}
        onRetry={() => void races.refetch()}
      />
    );
  }
  const found = races.data?.items.at(-1);
  if (!races.data) return <SkeletonText lines={6} />;
  // One that is only suggested may still not be chosen.
  const isOpen = task.raced?.status === "awaiting_crown";
  const winner = found && !isOpen && found.entries.find((entry) => isWinner(found, entry));
  if (winner) return <Winner taskId={winner.task_id} name={winner.strategy} />;
  const isRunning = task.raced?.status === "running";
  return (
    <EmptyState
      icon={<MessagesSquare />}
      title={t(isRunning ? "conversation.racing" : "conversation.raced")}
      actions={<Button onClick={() => showTab("race")}>{t("race.open")}</Button>}
    >
      {t(isRunning ? "conversation.racingText" : "conversation.racedText")}
    </EmptyState>
  );
}
