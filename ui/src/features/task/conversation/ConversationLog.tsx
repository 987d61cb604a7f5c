/** What runs said and did, one after the other, oldest first and read from the end. */
import { ArrowDown } from "lucide-react";
import { useCallback, useEffect, useMemo, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import { useStore } from "zustand";
import type { Approval, Execution } from "#ui/api/generated.ts";
import { Button } from "#ui/components/Button.tsx";
import { ErrorState } from "#ui/components/ErrorState.tsx";
import { Skeleton } from "#ui/components/Skeleton.tsx";
import { VirtualList, type VirtualListHandle } from "#ui/components/VirtualList.tsx";
import { usePlatform } from "#ui/platform/PlatformContext.tsx";
import { ExecutionHead } from "./ExecutionHead.tsx";
import { Entry, Output } from "./EntryRows.tsx";
import { closedParts, RowContext, type Unfolded } from "./RowContext.ts";
import { earlierThan, rowsOf, type ConversationRow } from "./conversation.ts";
import type { LogStore } from "./logStore.ts";
import { useAgentNames } from "../useAgentNames.ts";
import { useEarlierLogs, useFollowedLogs } from "./useLog.ts";
import styles from "./Conversation.module.css";
import rowStyles from "./Rows.module.css";

export function LogLoading() {
  return (
    <div className={styles.loading} aria-busy>
      {["38%", "92%", "74%", "86%", "51%"].map((width) => (
        <Skeleton key={width} width={width} height={14} />
      ))}
    </div>
  );
}

function Row({ row, names }: { row: ConversationRow; names: ReadonlyMap<string, string> }) {
  switch (row.type) {
    case "head":
      return (
        <ExecutionHead
          execution={row.execution}
          agent={names.get(row.execution.agent_id)}
          empty={row.empty}
        />
      );
    case "turn":
      return <TurnMark turn={row.turn} />;
    case "log":
      return row.row.type === "output" ? (
        <Output row={row.row} />
      ) : (
        <Entry row={row.row} log={row.execution.log_id} />
      );
  }
}

function TurnMark({ turn }: { turn: number }) {
  const { t } = useTranslation();
  return <p className={rowStyles.turn}>{t("conversation.turn", { turn })}</p>;
}

export interface LogProps {
  readonly taskId: string;
  readonly executions: readonly Execution[];
  readonly store: LogStore;
  readonly unfolded: Unfolded;
  readonly approvals: readonly Approval[];
}

export function Log({ taskId, executions, store, unfolded, approvals }: LogProps) {
  const { t } = useTranslation();
  const platform = usePlatform();
  const names = useAgentNames();
  // The one before the newest may still owe its last words when the newest begins.
  const followed = executions.slice(-2).map(({ id }) => id);
  const { stretches, error, retry } = useFollowedLogs(store, followed);
  const earlier = useEarlierLogs(store);
  const folds = useStore(unfolded);
  const closed = useMemo(() => closedParts(folds), [folds]);
  const rows = useMemo(
    () => rowsOf(executions, stretches, closed),
    [executions, stretches, closed],
  );
  const list = useRef<VirtualListHandle>(null);
  const [atEnd, setAtEnd] = useState(true);

  const newest = executions.at(-1)?.id;
  useEffect(() => {
    store.reading(atEnd ? (newest ?? null) : null);
    return () => store.reading(null);
  }, [store, atEnd, newest]);
  const { load } = earlier;
  const onStartReached = useCallback(() => {
    if (!newest || !stretches.has(newest)) return;
    const next = earlierThan(executions, stretches);
    if (next) load(next.execution.id, next.before);
  }, [executions, stretches, newest, load]);
  const surroundings = useMemo(
    () => ({
      taskId,
      unfolded,
      approvals,
      names,
      onLink: (href: string) => void platform.openExternal(href),
    }),
    [taskId, unfolded, approvals, names, platform],
  );

  const failure = error ?? earlier.error;
  if (rows.length === 0) {
    return error ? (
      <ErrorState title={t("conversation.failed")} error={error} onRetry={retry} />
    ) : (
      <LogLoading />
    );
  }
  return (
    <RowContext value={surroundings}>
      <div className={styles.log} data-selectable>
        {failure && (
          <ErrorState
            title={t("conversation.failed")}
            error={failure}
            onRetry={error ? retry : onStartReached}
          />
        )}
        {earlier.busy && (
          <div className={styles.earlier} aria-busy>
            <Skeleton width={120} height={8} />
          </div>
        )}
        <VirtualList
          items={rows}
          keyOf={(row) => row.key}
          rowHeight={30}
          measured
          gap={2}
          padding={10}
          overscan={12}
          label={t("conversation.label")}
          role="log"
          fromEnd
          handle={list}
          onStartReached={earlier.busy || earlier.error ? undefined : onStartReached}
          onAtEnd={setAtEnd}
          className={styles.list ?? ""}
        >
          {(row) => <Row row={row} names={names} />}
        </VirtualList>
        {!atEnd && (
          <div className={styles.jump}>
            <Button size="sm" icon={<ArrowDown />} onClick={() => list.current?.scrollToEnd()}>
              {t("conversation.jump")}
            </Button>
          </div>
        )}
      </div>
    </RowContext>
  );
}
