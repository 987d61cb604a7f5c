/** What the task waits for: said with a way to it, not as a trouble, when it goes on by itself. */
import {
  CalendarClock,
  CircleDashed,
  CircleDollarSign,
  CloudOff,
  Crown,
  Flag,
  GitPullRequest,
  Hand,
  HardDrive,
  Hourglass,
  ListOrdered,
  Lock,
  Pause,
  Play,
  ServerOff,
  TriangleAlert,
  Undo2,
  Unplug,
} from "lucide-react";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import type { Task, Waiting, WaitReason } from "#ui/api/generated.ts";
import { Countdown } from "#ui/components/Elapsed.tsx";
import { LockHolder } from "../workspace/LockHolder.tsx";
import { TaskLinks } from "../TaskLink.tsx";
import styles from "./NeedBanner.module.css";

export const waitIcons: Readonly<Record<WaitReason, ReactNode>> = {
  undo: <Undo2 />,
  agent_busy: <ListOrdered />,
  project_busy: <ListOrdered />,
  paused: <Pause />,
  held: <Hand />,
  target_checkout_dirty: <TriangleAlert />,
  git_locked: <Lock />,
  rate_limited: <Hourglass />,
  workspace_locked: <Lock />,
  dependency_open: <CircleDashed />,
  merge_queue: <ListOrdered />,
  awaiting_merge: <GitPullRequest />,
  host_unreachable: <CloudOff />,
  no_machine: <ServerOff />,
  machine_busy: <ListOrdered />,
  machine_quota: <Hourglass />,
  machine_unreachable: <Unplug />,
  job_pending: <CalendarClock />,
  machine_disk_full: <HardDrive />,
  cost_limit: <CircleDollarSign />,
  race_running: <Flag />,
  race_crown: <Crown />,
  start_required: <Play />,
};

export function WaitText({ task, waiting }: { task: Task; waiting: Waiting }) {
  const { t } = useTranslation();
  switch (waiting.reason) {
    case "rate_limited":
      return (
        <>
          {waiting.message}{" "}
          {waiting.until === null ? (
            t("task.wait.byItself")
          ) : (
            <span className={styles.countdown}>
              {t("task.wait.goesOnIn")} <Countdown until={waiting.until} />
            </span>
          )}
        </>
      );
    case "workspace_locked":
      return (
        <>
          {waiting.message}{" "}
          {task.workspace?.lock && <LockHolder taskId={task.id} lock={task.workspace.lock} />}
        </>
      );
    case "target_checkout_dirty":
      return t("task.goesOnAfter", { message: waiting.message });
    default:
      return waiting.message;
  }
}

export function WaitEvidence({ task, waiting }: { task: Task; waiting: Waiting }) {
  const { t } = useTranslation();
  if (waiting.reason === "dependency_open" && task.blocked_by.length > 0) {
    return (
      <TaskLinks ids={task.blocked_by} projectId={task.project_id} label={t("task.dependencies")} />
    );
  }
  return (
    <ul className={styles.files} data-selectable>
      {waiting.files.map((file) => (
        <li key={file}>
          <code>{file}</code>
        </li>
      ))}
    </ul>
  );
}

export const hasEvidence = (task: Task, waiting: Waiting): boolean =>
  waiting.files.length > 0 || (waiting.reason === "dependency_open" && task.blocked_by.length > 0);
