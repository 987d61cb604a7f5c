/** How the work gets into its target: the line it stands in, what is in the way, every merge. */
import {
  CircleCheck,
  CircleDashed,
  CircleX,
  GitMerge,
  LoaderCircle,
  MoveRight,
  TriangleAlert,
} from "lucide-react";
import { lazy, Suspense, type ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { useOp } from "#ui/api/client.ts";
import type { Merge, MergeQueueEntry, MergeStatus, Task } from "#ui/api/generated.ts";
import { useTaskHref } from "#ui/app/useTaskHref.ts";
import { Badge, type Tone } from "#ui/components/Badge.tsx";
import { CopyButton } from "#ui/components/CopyButton.tsx";
import { ErrorState } from "#ui/components/ErrorState.tsx";
import { SkeletonText } from "#ui/components/Skeleton.tsx";
import { RelativeTime } from "#ui/components/RelativeTime.tsx";
import { waitIcons } from "../banner/Wait.tsx";
import { conflicts, newestFirst, placeIn, short, waitsToMerge, type Place } from "./merging.ts";
import { Stack } from "#ui/components/Stack.tsx";
import layout from "#ui/components/layout.module.css";
import styles from "./MergeState.module.css";

const ConflictView = lazy(async () => ({
  default: (await import("../conflict/ConflictView.tsx")).ConflictView,
}));

const looks: Readonly<Record<MergeStatus, { readonly tone: Tone; readonly icon: ReactNode }>> = {
  intended: { tone: "accent", icon: <LoaderCircle /> },
  landed: { tone: "success", icon: <CircleCheck /> },
  nothing: { tone: "neutral", icon: <CircleDashed /> },
  conflict: { tone: "danger", icon: <TriangleAlert /> },
  failed: { tone: "danger", icon: <CircleX /> },
};

export function Commit({ commit }: { commit: string }) {
  const { t } = useTranslation();
  return (
    <span className={styles.commit}>
      <code>{short(commit)}</code>
      <CopyButton text={commit} label={t("merges.copyCommit", { commit: short(commit) })} />
    </span>
  );
}

function Row({ merge }: { merge: Merge }) {
  const { t } = useTranslation();
  const { tone, icon } = looks[merge.status];
  return (
    <li className={styles.merge}>
      <div className={styles.line}>
        <Badge tone={tone} icon={icon}>
          {t(`merges.status.${merge.status}`)}
        </Badge>
        <span>
          {t(`projectSettings.strategies.${merge.strategy}`)} → <code>{merge.target}</code>
        </span>
        <span className={styles.when}>
          <RelativeTime at={merge.created_at} />
        </span>
      </div>
      <dl className={styles.facts}>
        <div>
          <dt>{t("merges.source")}</dt>
          <dd>
            <Commit commit={merge.source_commit} />
          </dd>
        </div>
        {merge.target_before && (
          <div>
            <dt>{t("merges.target")}</dt>
            <dd>
              <Commit commit={merge.target_before} />
              {merge.merge_commit && (
                <>
                  <MoveRight aria-label={t("merges.to")} role="img" />
                  <Commit commit={merge.merge_commit} />
                </>
              )}
            </dd>
          </div>
        )}
      </dl>
      {merge.reason && <p className={layout.prose}>{merge.reason}</p>}
    </li>
  );
}

function Before({ entry, projectId }: { entry: MergeQueueEntry; projectId: string }) {
  const href = useTaskHref();
  return (
    <li>
      <a className={styles.task} href={href(projectId, entry.number)}>
        <span className={styles.number}>#{entry.number}</span>
        <span dir="auto">{entry.title}</span>
      </a>
      {entry.waiting && <span className={layout.faint}>{entry.waiting.message}</span>}
    </li>
  );
}

function Line({ place, projectId }: { place: Place; projectId: string }) {
  const { t } = useTranslation();
  const { target, before } = place;
  if (before.length === 0) {
    return <p className={styles.text}>{t("merges.itsTurn", { target })}</p>;
  }
  return (
    <div>
      <p className={styles.text}>{t("merges.behind", { count: before.length, target })}</p>
      <ol className={styles.before} aria-label={t("merges.queue", { target })}>
        {before.map((entry) => (
          <Before key={entry.task_id} entry={entry} projectId={projectId} />
        ))}
      </ol>
    </div>
  );
}

function Waits({ task }: { task: Task }) {
  const { waiting } = task;
  const { t } = useTranslation();
  if (!waiting || !waitsToMerge(task)) return null;
  return (
    <Stack>
      <p className={styles.text}>
        <span className={styles.icon} aria-hidden>
          {waitIcons[waiting.reason]}
        </span>
        {waiting.message}
      </p>
      {waiting.files.length > 0 && (
        <ul className={styles.files} aria-label={t("merges.inTheWay")}>
          {waiting.files.map((file) => (
            <li key={file}>
              <code>{file}</code>
            </li>
          ))}
        </ul>
      )}
    </Stack>
  );
}

export function MergeState({ task }: { task: Task }) {
  const { t } = useTranslation();
  const merges = useOp("task_merges", { task_id: task.id });
  const mayStand = task.review_passed_at !== null || waitsToMerge(task);
  const queue = useOp(
    "project_merge_queue",
    { project_id: task.project_id },
    { enabled: mayStand },
  );
  if (merges.error) {
    return (
      <ErrorState
        title={t("merges.failed")}
        error={merges.error}
        onRetry={() => void merges.refetch()}
      />
    );
  }
  const list = newestFirst(merges.data?.items ?? []);
  const place = mayStand ? placeIn(queue.data?.items ?? [], task.id) : null;
  const inConflict = conflicts(task, list[0]);
  if (list.length === 0 && !place && !waitsToMerge(task) && !inConflict) return null;
  return (
    <Stack as="section" gap={3} aria-label={t("merges.title")}>
      <h3 className={styles.heading}>
        <GitMerge aria-hidden />
        {t("merges.title")}
      </h3>
      {place && <Line place={place} projectId={task.project_id} />}
      {/* Who goes first says it better. */}
      {!(place && task.waiting?.reason === "merge_queue") && <Waits task={task} />}
      {inConflict && (
        <Suspense fallback={<SkeletonText lines={4} />}>
          <ConflictView task={task} />
        </Suspense>
      )}
      {list.length > 0 && (
        <ol className={styles.merges} aria-label={t("merges.all")}>
          {list.map((merge) => (
            <Row key={merge.id} merge={merge} />
          ))}
        </ol>
      )}
    </Stack>
  );
}
