/** What one run said and did, which an address asks for; also one of a race's entry. */
import { useMemo, useState } from "react";
import { useTranslation } from "react-i18next";
import { call, useOp } from "#ui/api/client.ts";
import type { Execution } from "#ui/api/generated.ts";
import { Button } from "#ui/components/Button.tsx";
import { ErrorState } from "#ui/components/ErrorState.tsx";
import { Row } from "#ui/components/Row.tsx";
import { Stack } from "#ui/components/Stack.tsx";
import { Truncate } from "#ui/components/Truncate.tsx";
import { usePlatform } from "#ui/platform/PlatformContext.tsx";
import { useApprovals } from "../approvals/Asks.tsx";
import { showTab } from "../go.ts";
import { useAgentNames } from "../useAgentNames.ts";
import { Log, LogLoading } from "./ConversationLog.tsx";
import { createLogStore } from "./logStore.ts";
import { createUnfolded } from "./RowContext.ts";
import layout from "#ui/components/layout.module.css";
import styles from "./Conversation.module.css";

function Whole() {
  const { t } = useTranslation();
  return (
    <Button size="sm" onClick={() => showTab("conversation")}>
      {t("conversation.whole")}
    </Button>
  );
}

function Run({ execution }: { execution: Execution }) {
  const { t } = useTranslation();
  const platform = usePlatform();
  const names = useAgentNames();
  const approvals = useApprovals(execution.task_id).all;
  // Its own: the store of the whole conversation has no gap between what was read and the end.
  const [store] = useState(() =>
    createLogStore((log, page) => call(platform, "execution_logs", { execution_id: log, ...page })),
  );
  const [unfolded] = useState(createUnfolded);
  const executions = useMemo(() => [execution], [execution]);
  const agent = names.get(execution.agent_id) ?? t("approvals.agent");
  const said = t("conversation.ofRun", {
    role: t(`conversation.role.${execution.role}`),
    agent,
    attempt: execution.attempt,
  });
  return (
    <section className={layout.column} aria-label={said}>
      <div className={styles.one}>
        <Row gap={3}>
          <Truncate fill title={said}>
            {said}
          </Truncate>
          <Whole />
        </Row>
      </div>
      <Log
        taskId={execution.task_id}
        executions={executions}
        store={store}
        unfolded={unfolded}
        approvals={approvals}
      />
    </section>
  );
}

export function RunConversation({ runId }: { runId: string }) {
  const { t } = useTranslation();
  const run = useOp("execution_get", { execution_id: runId });
  if (run.error) {
    return (
      <Stack gap={3}>
        <ErrorState
          title={t("conversation.failed")}
          error={run.error}
          onRetry={() => void run.refetch()}
        />
        <Whole />
      </Stack>
    );
  }
  return run.data ? <Run key={runId} execution={run.data} /> : <LogLoading />;
}
