/** The log of a check, a hook or a set-up, from its end; live while it runs. */
import { useMemo, useState } from "react";
import { useTranslation } from "react-i18next";
import { call } from "#ui/api/client.ts";
import { ErrorState } from "#ui/components/ErrorState.tsx";
import { SkeletonText } from "#ui/components/Skeleton.tsx";
import { usePlatform } from "#ui/platform/PlatformContext.tsx";
import { TextLines } from "./conversation/TextLines.tsx";
import { plainText } from "./conversation/log.ts";
import { useOutputLinks } from "./useOutputLinks.ts";
import { createLogStore } from "./conversation/logStore.ts";
import { useEarlierLogs, useFollowedLogs } from "./conversation/useLog.ts";

export function LogView({
  taskId,
  logId,
  look = "tall",
}: {
  taskId: string;
  logId: string;
  /** `inline` stands among other things and is as tall as what it says, up to a dozen lines. */
  look?: "tall" | "inline";
}) {
  const { t } = useTranslation();
  const linksIn = useOutputLinks(taskId);
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
  if (!stretch) return <SkeletonText lines={look === "tall" ? 8 : 2} />;
  const text = plainText(stretch.rows);
  if (text === "") return <p>{t("task.logEmpty")}</p>;
  return (
    <TextLines
      text={text}
      label={t("task.wholeOutput")}
      fromEnd
      look={look}
      linksIn={linksIn}
      onStartReached={
        stretch.complete ? undefined : () => earlier.load(logId, stretch.entries[0]?.seq ?? null)
      }
    />
  );
}
