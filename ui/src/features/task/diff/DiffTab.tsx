/** What the task changes: a bar, the comments on it, and the changed files. */
import { FileDiff } from "lucide-react";
import { useMemo, useRef, useState, type KeyboardEvent } from "react";
import { useTranslation } from "react-i18next";
import { useOp } from "#ui/api/client.ts";
import type { Comment, Scope, Task } from "#ui/api/generated.ts";
import { commandStore, isTyping } from "#ui/app/keys.ts";
import { useRoute } from "#ui/app/router.ts";
import { Button } from "#ui/components/Button.tsx";
import { EmptyState } from "#ui/components/EmptyState.tsx";
import { ErrorState } from "#ui/components/ErrorState.tsx";
import { Skeleton, SkeletonText } from "#ui/components/Skeleton.tsx";
import { usePreference } from "#ui/store/preferences.ts";
import { forgetPlace, placeIn } from "../diffPlace.ts";
import { OutsideReview } from "../review/OutsideReview.tsx";
import { CommentsBar } from "./CommentsBar.tsx";
import { DiffBar } from "./DiffBar.tsx";
import { Files, isEntry } from "./Files.tsx";
import { StrayComments } from "./StrayComments.tsx";
import { There } from "./There.tsx";
import { strays } from "./comments.ts";
import type { Goal } from "./goal.ts";
import { changedSince, useLastLook } from "./looks.ts";
import { useProblems } from "./useProblems.ts";
import { fileOrder, firstToRead } from "./tree.ts";
import { useFilesOf, whileThere } from "./there.ts";
import { useDiffKeys, useNavigation } from "./useNavigation.ts";
import { useNarrow } from "./useNarrow.ts";
import { useShown } from "./useShown.ts";
import type { ChangesHandle } from "./view.ts";
import styles from "./DiffTab.module.css";

/** Below this the file list would take the code's room: it lies over the code while it is open. */
const narrowWidth = 720;

/** Where somebody leads: a link in the address, or a step to a comment. */
function useGoal(lead: (goal: Goal) => void) {
  const route = useRoute();
  const asked = route.name === null ? null : placeIn(route.query);
  const key = asked ? JSON.stringify(asked) : "";
  const [goal, setGoal] = useState<Goal | null>(null);
  const go = (next: Goal) => {
    lead(next);
    setGoal(next);
  };
  const [followed, setFollowed] = useState("");
  if (key !== followed) {
    setFollowed(key);
    if (asked) {
      const { file: path, line, side } = asked;
      go({ path, line, side: side ?? "new", commentId: null });
    }
  }
  const arrived = () => setGoal(null);
  return { goal, go, arrived };
}

const noComments: readonly Comment[] = [];

/**
 * In the diff `c` comments the line that is pointed at. Where there is none it does nothing: what
 * else the page does by that key would take the person away from what they read.
 */
function keepComment(event: KeyboardEvent): void {
  if (event.key !== "c" || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.defaultPrevented || isTyping(event.target)) return;
  const command = commandStore.getState().commands.get("diff.comment");
  if (!command || command.enabled === false) event.preventDefault();
}

export default function DiffTab({ task }: { task: Task }) {
  const { t } = useTranslation();
  const [scope, setScope] = useState<Scope>("task");
  const isOne = usePreference("diffOneFile");
  const showing = useShown(task.id);
  const [treeBeside, setTreeBeside] = useState(true);
  const [treeOver, setTreeOver] = useState(false);
  const [box, setBox] = useState<HTMLDivElement | null>(null);
  const narrow = useNarrow(box, narrowWidth);
  const treeOpen = narrow ? treeOver : treeBeside;
  const view = useRef<ChangesHandle>(null);
  const [findAsked, setFindAsked] = useState(0);
  const onFind = (open: boolean) => setFindAsked((asked) => (open ? asked + 1 : 0));
  const gone = task.workspace === null || task.workspace.status === "creating";
  const answer = useOp(
    "task_diff",
    { task_id: task.id, scope },
    { enabled: !gone, keepPrevious: true, everyMs: whileThere },
  );
  const summary = answer.data;
  useFilesOf(task.id, summary?.there?.snapshot ?? null);
  const ordered = useMemo(() => fileOrder(summary?.files ?? []), [summary]);
  const look = useLastLook(task.id, scope === "task" ? (summary?.files ?? null) : null);
  const fresh = useMemo(() => changedSince(look, ordered), [look, ordered]);
  const [onlyFresh, setOnlyFresh] = useState(false);
  const isNarrowed = onlyFresh && fresh.size > 0;
  const files = useMemo(
    () => (isNarrowed ? ordered.filter(({ path }) => fresh.has(path)) : ordered),
    [isNarrowed, ordered, fresh],
  );
  const paths = useMemo(() => files.map(({ path }) => path), [files]);
  const first = isOne ? firstToRead(files) : (paths[0] ?? null);
  const walk = useNavigation(paths, first, isOne, view);
  const { goal, go, arrived } = useGoal(({ path, line, commentId }) => {
    walk.reach(path);
    showing.fold(path, false);
    if (line === null) return;
    showing.asPicture(path, false);
    if (commentId === null) showing.show(path);
  });
  const navigation = useMemo(
    () => ({
      ...walk,
      choose: (path: string) => {
        setTreeOver(false);
        forgetPlace();
        arrived();
        walk.choose(path);
      },
    }),
    [walk, arrived],
  );
  useDiffKeys(navigation);
  const commentsRead = useOp("task_comments", { task_id: task.id }, { enabled: !gone });
  const comments = commentsRead.data?.items ?? noComments;
  const problems = useProblems(task.id, comments, files, go);
  const stray = useMemo(() => (summary ? strays(comments, files) : []), [comments, files, summary]);
  const [strayOpen, setStrayOpen] = useState(false);
  const missing = goal !== null && summary !== undefined && !paths.includes(goal.path);

  if (gone) {
    return (
      <EmptyState icon={<FileDiff />} title={t("diff.none")}>
        {t("diff.noneText")}
      </EmptyState>
    );
  }
  return (
    <div
      ref={setBox}
      className={styles.diff}
      data-narrow={narrow || undefined}
      role="presentation"
      onKeyDown={keepComment}
    >
      <DiffBar
        summary={summary}
        isWhole={isEntry(task)}
        scope={scope}
        onScope={setScope}
        treeOpen={treeOpen}
        onTree={() => (narrow ? setTreeOver(!treeOver) : setTreeBeside(!treeBeside))}
        navigation={navigation}
        problems={problems}
        fresh={fresh.size}
        onlyFresh={isNarrowed}
        onFresh={setOnlyFresh}
        findOpen={findAsked > 0}
        onFind={onFind}
      />
      {summary?.there && <There there={summary.there} />}
      {summary?.outside_review && (
        <p className={styles.outside} role="status">
          <OutsideReview changed={summary.outside_review} />
        </p>
      )}
      {summary && (
        <CommentsBar
          task={task}
          comments={comments}
          files={files}
          onGo={go}
          strayOpen={strayOpen}
          onStray={() => setStrayOpen(!strayOpen)}
        />
      )}
      {strayOpen && stray.length > 0 && <StrayComments taskId={task.id} comments={stray} />}
      {commentsRead.error && (
        <ErrorState
          title={t("comments.failed")}
          error={commentsRead.error}
          onRetry={() => void commentsRead.refetch()}
        />
      )}
      {missing && (
        <p className={styles.missing} role="status">
          {t("comments.noFile", { path: goal.path })}
        </p>
      )}
      {answer.error ? (
        <ErrorState
          title={t("diff.failed")}
          error={answer.error}
          onRetry={() => void answer.refetch()}
        />
      ) : !summary ? (
        <div className={styles.loading} aria-busy>
          <Skeleton width="40%" />
          <SkeletonText lines={6} />
        </div>
      ) : summary.files.length === 0 ? (
        <EmptyState
          icon={<FileDiff />}
          title={t("diff.empty")}
          actions={
            scope === "task" ? undefined : (
              <Button onClick={() => setScope("task")}>{t("diff.showTask")}</Button>
            )
          }
        >
          {t(`diff.emptyText.${scope}`)}
        </EmptyState>
      ) : (
        <Files
          task={task}
          scope={scope}
          summary={summary}
          files={files}
          tree={!treeOpen ? "hidden" : narrow ? "over" : "beside"}
          navigation={navigation}
          view={view}
          comments={comments}
          showing={showing}
          goal={goal}
          onGo={go}
          onArrived={arrived}
          fresh={fresh}
          findAsked={findAsked}
          onFind={onFind}
        />
      )}
    </div>
  );
}
