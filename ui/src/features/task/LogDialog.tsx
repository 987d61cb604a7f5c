import { useMemo, useState } from "react";
import { useTranslation } from "react-i18next";
import { call } from "#ui/api/client.ts";
import { Dialog } from "#ui/components/Dialog.tsx";
import { ErrorState } from "#ui/components/ErrorState.tsx";
import { SkeletonText } from "#ui/components/Skeleton.tsx";
import { usePlatform } from "#ui/platform/PlatformContext.tsx";
import { TextLines } from "./conversation/TextLines.tsx";
import { plainText } from "./conversation/log.ts";
import { createLogStore } from "./conversation/logStore.ts";
import { useEarlierLogs, useFollowedLogs } from "./conversation/useLog.ts";

function LogBody({ taskId, logId }: { taskId: string; logId: string }) {
  const { t } = useTranslation();
  const platform = usePlatform();
  const [store] = useState(() =>
    createLogStore((log, page) =>
      call(platform, "task_log", { task_id: taskId, log_id: log, ...page }),
    ),
  );
  const logs = useMemo(() => [logId], [logId]);
  const { stretches, error, retry } = useFollowedLogs(store, logs);
  const earlier = useEarlierLogs(store);
  const stretch = stretches.get(logId);
  const failure = error ?? earlier.error;
  if (failure) {
    return <ErrorState title={t("task.logFailed")} error={failure} onRetry={retry} />;
  }
  if (!stretch) return <SkeletonText lines={8} />;
  const text = plainText(stretch.rows);
  if (text === "") return <p>{t("task.logEmpty")}</p>;
  return (
    <TextLines
      text={text}
      label={t("task.wholeOutput")}
      fromEnd
      onStartReached={
        stretch.complete ? undefined : () => earlier.load(logId, stretch.entries[0]?.seq ?? null)
      }
    />
  );
}

/** The whole log of a check or a step, from its end; live while it runs. */
export function LogDialog({
  taskId,
  logId,
  title,
  onClose,
}: {
  taskId: string;
  logId: string | null;
  title: string;
  onClose: () => void;
}) {
  return (
    <Dialog
      open={logId !== null}
      onOpenChange={(open) => {
        if (!open) onClose();
      }}
      title={title}
      size="lg"
    >
      {logId !== null && <LogBody taskId={taskId} logId={logId} />}
    </Dialog>
  );
}
