/** The rows of a file, in colours or plain, with the line that is pointed at and the way to comment it. */
import {
  lazy,
  Suspense,
  useEffect,
  useMemo,
  useState,
  type KeyboardEvent,
  type ReactNode,
  type RefObject,
} from "react";
import { useTranslation } from "react-i18next";
import type { FileChange } from "#ui/api/generated.ts";
import { useCommands, type Command } from "#ui/app/keys.ts";
import { ErrorState } from "#ui/components/ErrorState.tsx";
import { Fallback } from "./Fallback.tsx";
import { PlainDiff } from "./PlainDiff.tsx";
import { nearestRow, pathOn, targetOf, type RowIndex, type Sides } from "./comments.ts";
import { openComposer } from "./composer.ts";
import { at, moved, type Cursor } from "./cursor.ts";
import type { Goal } from "./goal.ts";
import { changeStarts, type DiffRow } from "./hunks.ts";
import type { LoadedDiff } from "./useFileDiff.ts";
import type { FileNotes } from "./useFileNotes.ts";
import type { Commenting, DiffStyle, DiffViewHandle } from "./view.ts";
import { lineSaid } from "./words.ts";
import commentStyles from "./Comments.module.css";
import styles from "./FileView.module.css";

const ColourDiff = lazy(() => import("./ColourDiff.tsx"));

/** Colours are made in a worker; where there is none, plain rows say the same. */
const hasWorkers = typeof Worker !== "undefined";

export interface FileRowsProps {
  readonly taskId: string;
  readonly change: FileChange;
  readonly diff: LoadedDiff;
  readonly rows: readonly DiffRow[];
  readonly index: RowIndex;
  readonly sides: Sides;
  readonly diffStyle: DiffStyle;
  readonly notes: FileNotes;
  readonly top: ReactNode;
  readonly goal: Goal | null;
  readonly onArrived: (goal: Goal) => void;
  readonly handle: RefObject<DiffViewHandle | null>;
}

type Found = { readonly row: number | null; readonly exact: boolean };

/** Where the goal is among the rows that are there; null while it may yet come. */
function useFound(
  goal: Goal | null,
  rows: readonly DiffRow[],
  index: RowIndex,
  { more, complete, error }: LoadedDiff,
): Found | null {
  // What could not be read will not come.
  const settled = complete || error !== null;
  const found = useMemo((): Found | null => {
    if (!goal) return null;
    if (goal.line === null) return { row: null, exact: true };
    const row = index.rowOf(goal.side, goal.line);
    if (row !== undefined) return { row, exact: true };
    // A comment without a row of its own stands above them.
    if (goal.commentId !== null) return settled ? { row: null, exact: true } : null;
    const near = nearestRow(rows, goal.side, goal.line);
    if ((near === null || near.beyond) && !settled) return null;
    return near ?? { row: null, exact: false };
  }, [goal, rows, index, settled]);
  const wants = goal !== null && found === null;
  const loaded = rows.length;
  useEffect(() => {
    // Asked once per page: a quick host answers before "fetching" was ever drawn.
    if (wants && loaded > 0) more?.();
  }, [wants, more, loaded]);
  return found;
}

function useLineCommands(cursor: Cursor | null, comment: (() => void) | undefined): void {
  const { t } = useTranslation();
  const enabled = cursor !== null && comment !== undefined;
  const commands = useMemo<Command[]>(
    () => [
      {
        id: "diff.comment",
        label: t("comments.addToLine"),
        group: t("task.tab.diff"),
        keys: ["c"],
        enabled,
        run: () => comment?.(),
      },
    ],
    [t, enabled, comment],
  );
  useCommands(commands);
}

export function FileRows({
  taskId,
  change,
  diff,
  rows,
  index,
  sides,
  diffStyle,
  notes,
  top,
  goal,
  onArrived,
  handle,
}: FileRowsProps) {
  const { t } = useTranslation();
  const [cursor, setCursor] = useState<Cursor | null>(null);
  const [refused, setRefused] = useState<"noLine" | "notHere" | "chooseLine" | null>(null);
  const found = useFound(goal, rows, index, diff);
  const canComment = sides.old || sides.new;

  const point = (next: Cursor | null) => {
    if (refused === "chooseLine") setRefused(null);
    setCursor(next);
  };
  const comment = (pointed: Cursor) => {
    const target = targetOf(rows, pointed.anchor, pointed.row, sides, pointed.side);
    setRefused(target ? null : "notHere");
    setCursor(pointed);
    if (target) openComposer(taskId, pathOn(change, target.side), target);
  };
  const commentHere = () => {
    if (cursor) comment(cursor);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (!(event.target instanceof Element) || event.target.closest("[data-thread]")) return;
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      const step = event.key === "ArrowDown" ? 1 : -1;
      // A walk over all rows, which only the first step needs.
      const start = cursor ? 0 : (changeStarts(rows)[0]?.row ?? 0);
      event.preventDefault();
      point(moved(rows, cursor, step, event.shiftKey, start));
    } else if (event.key === "c" && canComment) {
      event.preventDefault();
      if (cursor) comment(cursor);
      else setRefused("chooseLine");
    } else if (event.key === "Escape" && cursor) {
      event.preventDefault();
      event.stopPropagation();
      setCursor(null);
    }
  };
  useLineCommands(cursor, canComment ? commentHere : undefined);

  const arrival = useMemo(() => found && { row: found.row }, [found]);
  const commenting: Commenting = {
    anchors: notes.anchors,
    top,
    cursor,
    onCursor: point,
    onComment: canComment ? comment : undefined,
    onKeyDown,
    arrival,
    onArrived: () => {
      if (!goal || !found) return;
      setRefused(found.exact ? null : "noLine");
      if (found.exact && found.row !== null && goal.commentId === null) {
        handle.current?.focus();
        setCursor(at(found.row, goal.side));
      }
      onArrived(goal);
    },
  };
  const label = t("diff.changesIn", { path: change.path });
  const plain = (
    <PlainDiff
      rows={rows}
      columns={diff.columns}
      label={label}
      commenting={commenting}
      onEndReached={diff.more}
      handle={handle}
    />
  );
  return (
    <>
      {diff.plain && <p className={styles.notice}>{t("diff.plain")}</p>}
      {diff.first?.lossy && <p className={styles.notice}>{t("diff.lossy")}</p>}
      {refused && (
        <p className={commentStyles.notice} role="status">
          {t(`comments.${refused}`)}
        </p>
      )}
      <p className="visually-hidden" role="status">
        {cursor && lineSaid(rows, cursor, t)}
      </p>
      {diff.plain || !hasWorkers ? (
        plain
      ) : (
        <Fallback instead={plain}>
          <Suspense fallback={<div className={styles.loading} aria-busy />}>
            <ColourDiff
              change={diff.first?.change ?? change}
              hunks={diff.hunks}
              rows={rows}
              index={index}
              diffStyle={diffStyle}
              label={label}
              commenting={commenting}
              handle={handle}
            />
          </Suspense>
        </Fallback>
      )}
      {diff.error && (
        <ErrorState title={t("diff.fileFailed")} error={diff.error} onRetry={diff.retry} />
      )}
    </>
  );
}
