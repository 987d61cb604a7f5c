/** What the task changes: files at one side, the chosen one beside them. */
import {
  ArrowDown,
  ArrowUp,
  ChevronsDown,
  ChevronsUp,
  Columns2,
  FileDiff,
  PanelLeft,
  Rows2,
} from "lucide-react";
import { useCallback, useMemo, useRef, useState, type KeyboardEvent } from "react";
import { useTranslation } from "react-i18next";
import { useOp } from "#ui/api/client.ts";
import type { Comment, DiffSummary, Scope, Task } from "#ui/api/generated.ts";
import { commandStore, isTyping, useCommands, type Command } from "#ui/app/keys.ts";
import { useRoute } from "#ui/app/router.ts";
import { Button } from "#ui/components/Button.tsx";
import { DiffCount } from "#ui/components/DiffCount.tsx";
import { EmptyState } from "#ui/components/EmptyState.tsx";
import { ErrorState } from "#ui/components/ErrorState.tsx";
import { IconButton } from "#ui/components/IconButton.tsx";
import { SegmentedControl } from "#ui/components/SegmentedControl.tsx";
import { Select } from "#ui/components/Select.tsx";
import { Skeleton, SkeletonText } from "#ui/components/Skeleton.tsx";
import { forgetPlace, placeIn } from "../diffPlace.ts";
import { OutsideReview } from "../review/OutsideReview.tsx";
import { CommentsBar } from "./CommentsBar.tsx";
import { FileTree } from "./FileTree.tsx";
import { FileView } from "./FileView.tsx";
import { StrayComments } from "./StrayComments.tsx";
import { There } from "./There.tsx";
import { countsOf, sidesOf, strays } from "./comments.ts";
import type { Goal } from "./goal.ts";
import { stepTo, type ChangeStart } from "./hunks.ts";
import { fileOrder, firstToRead } from "./tree.ts";
import { useFilesOf, whileThere } from "./there.ts";
import { useNarrow } from "./useNarrow.ts";
import type { DiffStyle, DiffViewHandle } from "./view.ts";
import { isViewed, setViewed, useViewedMarks } from "./viewed.ts";
import layout from "#ui/components/layout.module.css";
import styles from "./DiffTab.module.css";

/** Below this the file list would take the code's room: it lies over the code while it is open. */
const narrowWidth = 720;

const scopes: readonly Scope[] = ["task", "uncommitted", "turn", "since_review"];

interface Navigation {
  readonly path: string | null;
  readonly choose: (path: string) => void;
  readonly nextFile: () => void;
  readonly previousFile: () => void;
  readonly nextChange: () => void;
  readonly previousChange: () => void;
}

/** Where the person is among files and changes. */
function useNavigation(
  paths: readonly string[],
  first: string | null,
  view: React.RefObject<DiffViewHandle | null>,
  changes: React.RefObject<readonly ChangeStart[]>,
): Navigation {
  const [chosen, setChosen] = useState<string | null>(null);
  const change = useRef<{ readonly path: string; readonly index: number } | null>(null);
  const path = chosen !== null && paths.includes(chosen) ? chosen : first;
  const stepFile = useCallback(
    (step: 1 | -1) => {
      const next = stepTo(path === null ? null : paths.indexOf(path), step, paths.length);
      if (next !== null) setChosen(paths[next] ?? null);
    },
    [path, paths],
  );
  const stepChange = useCallback(
    (step: 1 | -1) => {
      const known = change.current?.path === path ? change.current.index : null;
      const next = stepTo(known, step, changes.current.length);
      const target = next === null ? undefined : changes.current[next];
      if (next === null || !target || path === null) {
        change.current = null;
        stepFile(step);
        return;
      }
      change.current = { path, index: next };
      view.current?.goTo(target);
    },
    [path, stepFile, changes, view],
  );
  return useMemo(
    () => ({
      path,
      choose: setChosen,
      nextFile: () => stepFile(1),
      previousFile: () => stepFile(-1),
      nextChange: () => stepChange(1),
      previousChange: () => stepChange(-1),
    }),
    [path, stepFile, stepChange],
  );
}

function useDiffKeys(navigation: Navigation): void {
  const { t } = useTranslation();
  const commands = useMemo<Command[]>(
    () =>
      (
        [
          ["nextChange", "j"],
          ["previousChange", "k"],
          ["nextFile", "n"],
          ["previousFile", "p"],
        ] as const
      ).map(([name, key]) => ({
        id: `diff.${name}`,
        label: t(`diff.${name}`),
        group: t("task.tab.diff"),
        keys: [key],
        run: navigation[name],
      })),
    [t, navigation],
  );
  useCommands(commands);
}

/** Where somebody leads: a link in the address, or a step to a comment. */
function useGoal(choose: (path: string) => void) {
  const route = useRoute();
  const asked = route.name === null ? null : placeIn(route.query);
  const key = asked ? JSON.stringify(asked) : "";
  const [goal, setGoal] = useState<Goal | null>(null);
  const go = (next: Goal) => {
    choose(next.path);
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

/** Nobody is told anything about an entry of a race: its changes are only looked at. */
const isEntry = ({ execution_mode: mode }: Task): boolean => mode === "race_entry";
const noSides = { old: false, new: false };

function Bar({
  summary,
  isWhole,
  scope,
  onScope,
  diffStyle,
  onDiffStyle,
  treeOpen,
  onTree,
  navigation,
}: {
  summary: DiffSummary | undefined;
  /** There is nothing to choose: all that was done is looked at. */
  isWhole: boolean;
  scope: Scope;
  onScope: (scope: Scope) => void;
  diffStyle: DiffStyle;
  onDiffStyle: (style: DiffStyle) => void;
  treeOpen: boolean;
  onTree: () => void;
  navigation: Navigation;
}) {
  const { t } = useTranslation();
  return (
    <div className={styles.bar}>
      <IconButton
        label={t("diff.fileList")}
        icon={<PanelLeft />}
        size="sm"
        pressed={treeOpen}
        onClick={onTree}
      />
      {!isWhole && (
        <Select
          size="sm"
          hideLabel
          label={t("diff.scopeLabel")}
          value={scope}
          options={scopes.map((value) => ({ value, label: t(`diff.scope.${value}`) }))}
          onChange={onScope}
        />
      )}
      {summary && (
        <span className={styles.total}>
          {t("diff.files", { count: summary.files.length })}
          <DiffCount added={summary.added} removed={summary.removed} />
        </span>
      )}
      <span className={layout.fill} />
      <IconButton
        label={t("diff.previousChange")}
        icon={<ArrowUp />}
        size="sm"
        keys="k"
        onClick={navigation.previousChange}
      />
      <IconButton
        label={t("diff.nextChange")}
        icon={<ArrowDown />}
        size="sm"
        keys="j"
        onClick={navigation.nextChange}
      />
      <IconButton
        label={t("diff.previousFile")}
        icon={<ChevronsUp />}
        size="sm"
        keys="p"
        onClick={navigation.previousFile}
      />
      <IconButton
        label={t("diff.nextFile")}
        icon={<ChevronsDown />}
        size="sm"
        keys="n"
        onClick={navigation.nextFile}
      />
      <SegmentedControl
        label={t("diff.layout")}
        value={diffStyle}
        segments={[
          { value: "unified", label: t("diff.unified"), icon: <Rows2 /> },
          { value: "split", label: t("diff.split"), icon: <Columns2 /> },
        ]}
        onChange={onDiffStyle}
      />
    </div>
  );
}

function Files({
  task,
  scope,
  summary,
  diffStyle,
  tree,
  navigation,
  view,
  onChanges,
  comments,
  goal,
  onGoal,
}: {
  task: Task;
  scope: Scope;
  summary: DiffSummary;
  diffStyle: DiffStyle;
  tree: "beside" | "over" | "hidden";
  navigation: Navigation;
  view: React.RefObject<DiffViewHandle | null>;
  onChanges: (changes: readonly ChangeStart[]) => void;
  comments: readonly Comment[];
  goal: Goal | null;
  onGoal: () => void;
}) {
  const marks = useViewedMarks(task.id);
  const change = summary.files.find(({ path }) => path === navigation.path);
  const counts = useMemo(() => countsOf(comments, summary.files), [comments, summary]);
  const sides = useMemo(
    () => (isEntry(task) ? noSides : sidesOf(scope, summary.head)),
    [task, scope, summary.head],
  );
  return (
    <div className={styles.files}>
      {tree !== "hidden" && (
        <div className={styles.tree} data-over={tree === "over" || undefined}>
          <FileTree
            taskId={task.id}
            files={summary.files}
            counts={counts}
            selected={navigation.path}
            onSelect={navigation.choose}
          />
        </div>
      )}
      {change && (
        <FileView
          key={`${scope}:${change.path}`}
          taskId={task.id}
          scope={scope}
          change={change}
          diffStyle={diffStyle}
          viewed={isViewed(marks, change)}
          onViewed={(viewed) => {
            setViewed(task.id, change, viewed);
            if (viewed) navigation.nextFile();
          }}
          onChanges={onChanges}
          handle={view}
          comments={comments}
          sides={sides}
          goal={goal?.path === change.path ? goal : null}
          onGoal={onGoal}
        />
      )}
    </div>
  );
}

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
  const [diffStyle, setDiffStyle] = useState<DiffStyle>("unified");
  const [treeBeside, setTreeBeside] = useState(true);
  const [treeOver, setTreeOver] = useState(false);
  const [box, setBox] = useState<HTMLDivElement | null>(null);
  const narrow = useNarrow(box, narrowWidth);
  const treeOpen = narrow ? treeOver : treeBeside;
  const view = useRef<DiffViewHandle>(null);
  const changes = useRef<readonly ChangeStart[]>([]);
  const gone = task.workspace === null || task.workspace.status === "creating";
  const answer = useOp(
    "task_diff",
    { task_id: task.id, scope },
    { enabled: !gone, keepPrevious: true, everyMs: whileThere },
  );
  const summary = answer.data;
  useFilesOf(task.id, summary?.there?.snapshot ?? null);
  const files = useMemo(() => fileOrder(summary?.files ?? []), [summary]);
  const paths = useMemo(() => files.map(({ path }) => path), [files]);
  const walk = useNavigation(paths, firstToRead(files), view, changes);
  const { goal, go, arrived } = useGoal(walk.choose);
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
  const stray = useMemo(() => (summary ? strays(comments, files) : []), [comments, files, summary]);
  const [strayOpen, setStrayOpen] = useState(false);
  const missing = goal !== null && summary !== undefined && !paths.includes(goal.path);
  const onChanges = useCallback((next: readonly ChangeStart[]) => {
    changes.current = next;
  }, []);

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
      <Bar
        summary={summary}
        isWhole={isEntry(task)}
        scope={scope}
        onScope={setScope}
        diffStyle={diffStyle}
        onDiffStyle={setDiffStyle}
        treeOpen={treeOpen}
        onTree={() => (narrow ? setTreeOver(!treeOver) : setTreeBeside(!treeBeside))}
        navigation={navigation}
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
          diffStyle={diffStyle}
          tree={!treeOpen ? "hidden" : narrow ? "over" : "beside"}
          navigation={navigation}
          view={view}
          onChanges={onChanges}
          comments={comments}
          goal={goal}
          onGoal={arrived}
        />
      )}
    </div>
  );
}
