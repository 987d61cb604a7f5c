import { useTranslation } from "react-i18next";
import { useOp } from "#ui/api/client.ts";
import type { WorkspaceLock } from "#ui/api/generated.ts";
import { RelativeTime } from "#ui/components/RelativeTime.tsx";
import { useAgentNames } from "../useAgentNames.ts";
import layout from "#ui/components/layout.module.css";

/** Who changes the worktree now: the agent of the run when it is one of the task's, and the process. */
export function LockHolder({ taskId, lock }: { taskId: string; lock: WorkspaceLock }) {
  const { t } = useTranslation();
  const names = useAgentNames();
  const runs = useOp("task_executions", { task_id: taskId }).data?.items;
  const run = runs?.find(({ id }) => id === lock.execution_id);
  const agent = run && names.get(run.agent_id);
  const process =
    lock.pid > 0
      ? t("workspace.lockedBy", { pid: lock.pid, host: lock.host })
      : t("workspace.lockedOn", { host: lock.host });
  return (
    <span>
      {agent ? t("workspace.lockedByAgent", { name: agent, process }) : process}{" "}
      <span className={layout.faint}>
        <RelativeTime at={lock.acquired_at} />
      </span>
    </span>
  );
}
