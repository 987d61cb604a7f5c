/** The list of changed files at one side, what changed in them beside it. */
import { useMemo, type RefObject } from "react";
import { useTranslation } from "react-i18next";
import type { Comment, DiffSummary, FileChange, Scope, Task } from "#ui/api/generated.ts";
import { openFileInEditor } from "#ui/app/PlaceButtons.tsx";
import { showToast } from "#ui/components/Toast.tsx";
import { usePlatform } from "#ui/platform/PlatformContext.tsx";
import { usePreference } from "#ui/store/preferences.ts";
import { Changes } from "./Changes.tsx";
import { FileTree } from "./FileTree.tsx";
import { countsOf, sidesOf, wholeFile } from "./comments.ts";
import { openComposer } from "./composer.ts";
import { hasHidden } from "./context.ts";
import { FindBar } from "./FindBar.tsx";
import { useFileKeys } from "./useFileKeys.ts";
import { useFind } from "./useFind.ts";
import type { FileHeadProps } from "./FileHead.tsx";
import type { Goal } from "./goal.ts";
import { beside, type Navigation } from "./useNavigation.ts";
import { useLoader } from "./useLoader.ts";
import type { Showing } from "./useShown.ts";
import type { ChangesHandle } from "./view.ts";
import { isViewed, setViewed, useViewedMarks } from "./viewed.ts";
import styles from "./DiffTab.module.css";

const noSides = { old: false, new: false };

/** Nobody is told anything about an entry of a race: its changes are only looked at. */
export const isEntry = ({ execution_mode: mode }: Task): boolean => mode === "race_entry";

export interface FilesProps {
  readonly task: Task;
  readonly scope: Scope;
  readonly summary: DiffSummary;
  /** In the order in which they are shown. */
  readonly files: readonly FileChange[];
  readonly tree: "beside" | "over" | "hidden";
  readonly navigation: Navigation;
  readonly view: RefObject<ChangesHandle | null>;
  readonly comments: readonly Comment[];
  readonly showing: Showing;
  readonly goal: Goal | null;
  readonly onGo: (goal: Goal) => void;
  readonly onArrived: () => void;
  /** How often the search was asked for; 0 while it is closed. */
  readonly findAsked: number;
  /** Files that changed since the person looked last. */
  readonly fresh: ReadonlySet<string>;
  readonly onFind: (open: boolean) => void;
}

export function Files({
  task,
  scope,
  summary,
  files,
  tree,
  navigation,
  view,
  comments,
  showing,
  goal,
  onGo,
  onArrived,
  findAsked,
  fresh,
  onFind,
}: FilesProps) {
  const platform = usePlatform();
  const { t } = useTranslation();
  const isOne = usePreference("diffOneFile");
  const diffStyle = usePreference("diffStyle");
  const marks = useViewedMarks(task.id);
  const counts = useMemo(() => countsOf(comments, summary.files), [comments, summary]);
  const sides = useMemo(
    () => (isEntry(task) ? noSides : sidesOf(scope, summary.head)),
    // The task is read again while it is worked on.
    // oxlint-disable-next-line react-hooks/exhaustive-deps
    [task.execution_mode, scope, summary.head],
  );
  const { loader, states } = useLoader(task.id, scope);
  const find = useFind(findAsked > 0, files, loader, states, navigation.path, onGo);
  const paths = useMemo(() => files.map(({ path }) => path), [files]);
  const drawn = useMemo(
    () => (isOne ? files.filter(({ path }) => path === navigation.path) : files),
    [isOne, files, navigation.path],
  );
  const { shown, fold, show, asPicture } = showing;
  const { workspace } = task;
  const openFile = (path: string) => {
    const line = view.current?.lineOf(path) ?? null;
    if (workspace) openFileInEditor(platform, workspace, path, line);
  };
  const showWhole = (path: string) => {
    loader
      .expand(path, 1, null)
      .catch((thrown: unknown) =>
        showToast({ tone: "danger", title: t("diff.context.failed"), detail: String(thrown) }),
      );
  };
  const toggleViewed = (change: FileChange, viewed: boolean) => {
    setViewed(task.id, change, viewed);
    fold(change.path, null);
    if (viewed && isOne) navigation.nextFile();
  };
  useFileKeys({
    change: files.find(({ path }) => path === navigation.path),
    onFind: () => onFind(true),
    onFindStep: find.matches.length > 0 ? find.step : undefined,
    onViewed: (change) => toggleViewed(change, !isViewed(marks, change)),
    onFold: isOne ? undefined : ({ path }, folded) => fold(path, folded ?? null),
    isFolded: shown.folded,
    onEditor: workspace ? openFile : undefined,
    onWhole: showWhole,
  });
  const head = (change: FileChange): Omit<FileHeadProps, "change"> => {
    const { path } = change;
    return {
      viewed: isViewed(marks, change),
      onViewed: (viewed) => toggleViewed(change, viewed),
      isNew: fresh.has(path),
      folded: isOne ? undefined : shown.folded(change),
      onFold: () => fold(path, !shown.folded(change)),
      picture: shown.pictures.has(path),
      onPicture: (picture) => asPicture(path, picture),
      onComment: sides.new ? () => openComposer(task.id, path, wholeFile) : undefined,
      onEditor: workspace && change.kind !== "deleted" ? () => openFile(path) : undefined,
      onWhole: hasHidden(change, states.get(path)?.loaded) ? () => showWhole(path) : undefined,
    };
  };
  return (
    <div className={styles.files}>
      {tree !== "hidden" && (
        <div className={styles.tree} data-over={tree === "over" || undefined}>
          <FileTree
            taskId={task.id}
            files={files}
            counts={counts}
            selected={navigation.path}
            onSelect={navigation.choose}
          />
        </div>
      )}
      <div className={styles.beside}>
        {findAsked > 0 && (
          <FindBar
            // Asked for anew, the box takes the keyboard again.
            key={findAsked}
            find={find}
            onClose={() => {
              onFind(false);
              view.current?.focus();
            }}
          />
        )}
        <Changes
          key={isOne ? `${scope}:${navigation.path}` : scope}
          task={task}
          scope={scope}
          files={drawn}
          isOne={isOne}
          loader={loader}
          states={states}
          shown={shown}
          comments={comments}
          sides={sides}
          diffStyle={diffStyle}
          goal={goal}
          onGoal={onArrived}
          onCurrent={(path) => {
            if (!isOne) navigation.reach(path);
          }}
          onLeave={(path, step) => {
            const next = beside(paths, path, step);
            const change = step === 1 ? "first" : "last";
            if (next) onGo({ path: next, side: "new", line: null, commentId: null, change });
          }}
          marksOf={(path, row) => find.marks.get(path)?.get(row)}
          head={head}
          onShow={(path) => {
            show(path);
            loader.force(path);
          }}
          handle={view}
        />
      </div>
    </div>
  );
}
