/** One item of the list of changes, whichever it is. */
import { memo, useState } from "react";
import { useTranslation } from "react-i18next";
import type { FileChange, Scope } from "#ui/api/generated.ts";
import { SkeletonText } from "#ui/components/Skeleton.tsx";
import { showToast } from "#ui/components/Toast.tsx";
import { CommentCard } from "./CommentCard.tsx";
import { Composer } from "./Composer.tsx";
import { FileHead, type FileHeadProps } from "./FileHead.tsx";
import { FileInstead } from "./FileInstead.tsx";
import { GapRow } from "./GapRow.tsx";
import { Line, Pair, type LineProps } from "./Line.tsx";
import { NotesProvider, type Notes } from "./Notes.ts";
import { Thread } from "./Thread.tsx";
import { firstOf, lastOf } from "./cursor.ts";
import { noNotes, type FileNotes } from "./fileNotes.ts";
import type { Item } from "./items.ts";
import type { DiffLoader, FileStates } from "./loader.ts";
import type { Colours, Mark } from "./tokens.ts";
import type { Pointed } from "./view.ts";
import commentStyles from "./Comments.module.css";
import styles from "./Changes.module.css";

export interface ItemContext {
  readonly taskId: string;
  readonly scope: Scope;
  readonly changes: ReadonlyMap<string, FileChange>;
  readonly states: FileStates;
  readonly notes: ReadonlyMap<string, FileNotes>;
  readonly colours: ReadonlyMap<string, Colours>;
  readonly pointed: Pointed | null;
  readonly canComment: boolean;
  readonly marksOf: (path: string, row: number) => readonly Mark[] | undefined;
  readonly head: (change: FileChange) => Omit<FileHeadProps, "change">;
  readonly loader: DiffLoader;
  readonly onShow: (path: string) => void;
  readonly wanted: string | null;
  readonly onFound: () => void;
  readonly onLeave: () => void;
}

/** What is said of the file as a whole, and what has no row to stand under. */
function Top({ notes, plain, lossy }: { notes: FileNotes; plain: boolean; lossy: boolean }) {
  const { t } = useTranslation();
  return (
    <div className={styles.note} data-thread>
      <div className={commentStyles.thread}>
        {plain && <p className={styles.said}>{t("diff.plain")}</p>}
        {lossy && <p className={styles.said}>{t("diff.lossy")}</p>}
        {notes.top.map((comment) => (
          <CommentCard
            key={comment.id}
            comment={comment}
            away={!comment.outdated && comment.line !== null}
          />
        ))}
        {notes.topComposers.map((composer) => (
          <Composer key={composer.key} composer={composer} />
        ))}
      </div>
    </div>
  );
}

function Hidden({ item, loader }: { item: Extract<Item, { type: "gap" }>; loader: DiffLoader }) {
  const { t } = useTranslation();
  const [busy, setBusy] = useState(false);
  const show = (from: number, to: number | null) => {
    setBusy(true);
    loader
      .expand(item.path, from, to)
      .catch((thrown: unknown) =>
        showToast({ tone: "danger", title: t("diff.context.failed"), detail: String(thrown) }),
      )
      .finally(() => setBusy(false));
  };
  const { gap, header, oldNo, newNo } = item;
  return <GapRow gap={gap} header={header} oldNo={oldNo} newNo={newNo} busy={busy} onShow={show} />;
}

interface ChangeItemProps {
  readonly item: Item;
  readonly context: ItemContext;
}

/** Drawn again only when it or its surroundings change, not when the list has scrolled. */
export const ChangeItem = memo(function ChangeItem({ item, context }: ChangeItemProps) {
  const { path } = item;
  const { states, pointed, taskId, canComment } = context;
  const change = context.changes.get(path);
  const notes = context.notes.get(path) ?? noNotes;
  const state = states.get(path);
  if (!change) return null;
  const shared: Notes = {
    taskId,
    at: notes.at,
    composersAt: notes.composersAt,
    wanted: context.wanted,
    onFound: context.onFound,
    onLeave: context.onLeave,
  };
  const lineOf = (row: number | null): LineProps | null => {
    const each = row === null ? undefined : state?.loaded?.rows[row];
    if (row === null || each?.type !== "line") return null;
    const cursor = pointed?.path === path ? pointed.cursor : null;
    return {
      line: each.line,
      row,
      colours: context.colours.get(path),
      marks: context.marksOf(path, row),
      selected: cursor !== null && row >= firstOf(cursor) && row <= lastOf(cursor),
      canComment,
    };
  };
  switch (item.type) {
    case "head":
      return <FileHead change={change} {...context.head(change)} />;
    case "top":
      return (
        <NotesProvider value={shared}>
          <Top
            notes={notes}
            plain={state?.loaded?.plain ?? false}
            lossy={state?.loaded?.first.lossy ?? false}
          />
        </NotesProvider>
      );
    case "instead":
      return (
        <div className={styles.instead}>
          <FileInstead
            taskId={taskId}
            scope={context.scope}
            change={change}
            what={item.what}
            state={state}
            onShow={() => context.onShow(path)}
            onRetry={() => context.loader.retry(path)}
          />
        </div>
      );
    case "gap":
      return <Hidden item={item} loader={context.loader} />;
    case "line": {
      const line = lineOf(item.row);
      return line && <Line {...line} />;
    }
    case "pair":
      return <Pair old={lineOf(item.old)} new={lineOf(item.new)} />;
    case "notes":
      return (
        <NotesProvider value={shared}>
          <div className={styles.note}>
            <Thread at={item.at} />
          </div>
        </NotesProvider>
      );
    case "more":
      return (
        <div className={styles.more} aria-busy>
          <SkeletonText lines={3} />
        </div>
      );
    default:
      return null;
  }
});
