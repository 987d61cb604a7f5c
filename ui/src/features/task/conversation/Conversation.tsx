/** Everything that was said and done for the task. */
import { MessagesSquare } from "lucide-react";
import { useMemo } from "react";
import { useTranslation } from "react-i18next";
import type { Task } from "#ui/api/generated.ts";
import { useOp } from "#ui/api/client.ts";
import { EmptyState } from "#ui/components/EmptyState.tsx";
import { ErrorState } from "#ui/components/ErrorState.tsx";
import { Log, LogLoading } from "./ConversationLog.tsx";
import { FollowUp } from "./message/FollowUp.tsx";
import type { Unfolded } from "./RowContext.ts";
import { inOrder } from "./conversation.ts";
import type { LogStore } from "./logStore.ts";
import { Asks, useApprovals } from "../approvals/Asks.tsx";
import { useAgentNames } from "../useAgentNames.ts";
import layout from "#ui/components/layout.module.css";

export interface ConversationProps {
  readonly task: Task;
  readonly store: LogStore;
  readonly unfolded: Unfolded;
  /** What can be done while nothing has been done yet. */
  readonly start?: React.ReactNode;
  /** What is shown of a task that was raced, whose runs are those of its entries. */
  readonly raced?: React.ReactNode;
}

export function Conversation({ task, store, unfolded, start, raced }: ConversationProps) {
  const { t } = useTranslation();
  const answer = useOp("task_executions", { task_id: task.id });
  const names = useAgentNames();
  const approvals = useApprovals(task.id);
  const executions = useMemo(() => inOrder(answer.data?.items ?? []), [answer.data]);
  if (answer.error) {
    return (
      <ErrorState
        title={t("conversation.failed")}
        error={answer.error}
        onRetry={() => void answer.refetch()}
      />
    );
  }
  if (!answer.data) return <LogLoading />;
  const last = executions.at(-1);
  if (!last && raced) return raced;
  if (!last) {
    return (
      <EmptyState icon={<MessagesSquare />} title={t("conversation.none")} actions={start}>
        {t("conversation.noneText")}
      </EmptyState>
    );
  }
  return (
    <div className={layout.column}>
      <Log
        taskId={task.id}
        executions={executions}
        store={store}
        unfolded={unfolded}
        approvals={approvals.all}
      />
      <Asks pending={approvals.pending} names={names} onStale={() => void approvals.refetch()} />
      {/* An entry of a race is talked to by nobody: all of them are told the same. */}
      {task.execution_mode !== "race_entry" && <FollowUp task={task} execution={last} />}
    </div>
  );
}
