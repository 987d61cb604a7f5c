/** One changed file: its head, and its rows in colours, plain, or a word on why not. */
import { FileCode2, MessageSquarePlus } from "lucide-react";
import { useEffect, useMemo, useState, type ReactNode, type RefObject } from "react";
import { useTranslation } from "react-i18next";
import type { Comment, FileChange, Scope } from "#ui/api/generated.ts";
import { Badge } from "#ui/components/Badge.tsx";
import { Button } from "#ui/components/Button.tsx";
import { Checkbox } from "#ui/components/Checkbox.tsx";
import { CopyButton } from "#ui/components/CopyButton.tsx";
import { DiffCount } from "#ui/components/DiffCount.tsx";
import { EmptyState } from "#ui/components/EmptyState.tsx";
import { ErrorState } from "#ui/components/ErrorState.tsx";
import { IconButton } from "#ui/components/IconButton.tsx";
import { SegmentedControl } from "#ui/components/SegmentedControl.tsx";
import { SkeletonText } from "#ui/components/Skeleton.tsx";
import { bytes } from "#ui/domain/size.ts";
import { whole } from "../numbers.ts";
import { CommentCard } from "./CommentCard.tsx";
import { Composer } from "./Composer.tsx";
import { FileRows } from "./FileRows.tsx";
import { ImageDiff } from "./ImageDiff.tsx";
import { KindMark } from "./KindMark.tsx";
import { NotesProvider, type Notes } from "./Notes.ts";
import { rowIndex, wholeFile, type Sides } from "./comments.ts";
import { openComposer } from "./composer.ts";
import { changeStarts, diffRows, type ChangeStart } from "./hunks.ts";
import { isDrawable } from "./picture.ts";
import { useFileDiff } from "./useFileDiff.ts";
import { useFileNotes, type FileNotes } from "./useFileNotes.ts";
import type { DiffStyle, DiffViewHandle } from "./view.ts";
import type { Goal } from "./goal.ts";
import commentStyles from "./Comments.module.css";
import styles from "./FileView.module.css";

export interface FileViewProps {
  readonly taskId: string;
  readonly scope: Scope;
  readonly change: FileChange;
  readonly diffStyle: DiffStyle;
  readonly viewed: boolean;
  readonly onViewed: (viewed: boolean) => void;
  readonly onChanges: (changes: readonly ChangeStart[]) => void;
  readonly handle: RefObject<DiffViewHandle | null>;
  readonly comments: readonly Comment[];
  readonly sides: Sides;
  /** The place in this file that somebody leads to. */
  readonly goal: Goal | null;
  readonly onGoal: () => void;
}

interface HeadProps extends Pick<
  FileViewProps,
  "taskId" | "change" | "viewed" | "onViewed" | "sides"
> {
  readonly picture: boolean;
  readonly onPicture: (picture: boolean) => void;
}

function Head({ taskId, change, viewed, onViewed, sides, picture, onPicture }: HeadProps) {
  const { t } = useTranslation();
  const folder = change.path.slice(0, change.path.lastIndexOf("/") + 1);
  return (
    <header className={styles.head}>
      <KindMark kind={change.kind} />
      <h3 className={styles.path} title={change.path}>
        {change.old_path && change.old_path !== change.path && (
          <span className={styles.folder}>{`${change.old_path} → `}</span>
        )}
        <span className={styles.folder}>{folder}</span>
        {change.path.slice(folder.length)}
      </h3>
      <CopyButton text={change.path} label={t("diff.copyPath")} />
      {change.untracked && <Badge look="outline">{t("diff.untracked")}</Badge>}
      {!change.binary && <DiffCount added={change.added} removed={change.removed} />}
      {isDrawable(change) && (
        <SegmentedControl
          label={t("diff.picture.shownAs")}
          value={picture ? "picture" : "lines"}
          segments={[
            { value: "lines", label: t("diff.picture.asLines") },
            { value: "picture", label: t("diff.picture.asPicture") },
          ]}
          onChange={(as) => onPicture(as === "picture")}
        />
      )}
      {sides.new && (
        <IconButton
          label={t("comments.addToFile")}
          icon={<MessageSquarePlus />}
          size="sm"
          onClick={() => openComposer(taskId, change.path, wholeFile)}
        />
      )}
      <Checkbox label={t("diff.viewed")} checked={viewed} onChange={onViewed} />
    </header>
  );
}

function sizes(change: FileChange): string {
  return [change.old_size, change.new_size]
    .filter((size) => size !== null)
    .map((size) => bytes(size))
    .join(" → ");
}

/** What is said of the file as a whole, and what has no row to stand under. */
function topOf(notes: FileNotes): ReactNode {
  if (notes.top.length === 0 && notes.topComposers.length === 0) return null;
  return (
    <>
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
    </>
  );
}

function Body({
  taskId,
  scope,
  change,
  diffStyle,
  onChanges,
  handle,
  comments,
  sides,
  goal,
  onGoal,
  picture,
}: Omit<FileViewProps, "viewed" | "onViewed"> & { readonly picture: boolean }) {
  const { t } = useTranslation();
  const [asked, setAsked] = useState(false);
  const folded = change.generated && !asked && !picture;
  const diff = useFileDiff(taskId, scope, change.path, {
    force: asked,
    enabled: !picture && !folded,
  });
  const { hunks } = diff;
  const rows = useMemo(() => diffRows(hunks), [hunks]);
  const index = useMemo(() => rowIndex(rows), [rows]);
  useEffect(() => onChanges(changeStarts(rows)), [rows, onChanges]);
  const notes = useFileNotes(taskId, comments, change, { rows, index, sides });
  const [wanted, setWanted] = useState<string | null>(null);
  const shared: Notes = {
    taskId,
    at: notes.at,
    composersAt: notes.composersAt,
    wanted,
    onFound: () => setWanted(null),
    onLeave: () => handle.current?.focus(),
  };
  const loading = !picture && !folded && !diff.ready && !diff.error;
  // Until the rows are there, nobody can say what stands under them and what above.
  const top = loading ? null : topOf(notes);
  const fixedTop = top && <div className={commentStyles.top}>{top}</div>;
  const show = <Button onClick={() => setAsked(true)}>{t("diff.show")}</Button>;
  const arrive = (arrived: Goal) => {
    setWanted(arrived.commentId);
    onGoal();
  };

  const content = (): ReactNode => {
    if (picture) {
      return <ImageDiff taskId={taskId} scope={scope} change={change} sizes={sizes(change)} />;
    }
    if (folded) {
      return (
        <EmptyState icon={<FileCode2 />} title={t("diff.generatedTitle")} actions={show}>
          {t("diff.generatedText")}
        </EmptyState>
      );
    }
    if (diff.error && !diff.ready) {
      return <ErrorState title={t("diff.fileFailed")} error={diff.error} onRetry={diff.retry} />;
    }
    if (loading || !diff.first) {
      return (
        <div className={styles.loading} aria-busy>
          <SkeletonText lines={8} />
        </div>
      );
    }
    if (diff.first.too_large) {
      return (
        <EmptyState icon={<FileCode2 />} title={t("diff.largeTitle")} actions={show}>
          {t("diff.largeText", {
            count: diff.first.total_rows,
            rows: whole(diff.first.total_rows),
            size: sizes(change),
          })}
        </EmptyState>
      );
    }
    if (rows.length === 0) {
      const modes = [change.old_mode, change.new_mode].filter(Boolean).join(" → ");
      return <EmptyState title={t("diff.noContent")}>{modes}</EmptyState>;
    }
    return null;
  };
  const instead = content();
  return (
    <NotesProvider value={shared}>
      {instead ? (
        <>
          {fixedTop}
          {instead}
        </>
      ) : (
        <FileRows
          taskId={taskId}
          change={change}
          diff={diff}
          rows={rows}
          index={index}
          sides={sides}
          diffStyle={diffStyle}
          notes={notes}
          top={top && <div className={commentStyles.thread}>{top}</div>}
          goal={goal}
          onArrived={arrive}
          handle={handle}
        />
      )}
    </NotesProvider>
  );
}

export function FileView({ viewed, onViewed, ...rest }: FileViewProps) {
  const [asPicture, setAsPicture] = useState(false);
  // A place in the file is a line of it.
  const picture = rest.change.binary || (asPicture && rest.goal === null);
  return (
    <section className={styles.file} aria-label={rest.change.path}>
      <Head
        {...rest}
        viewed={viewed}
        onViewed={onViewed}
        picture={picture}
        onPicture={setAsPicture}
      />
      <Body {...rest} picture={picture} />
    </section>
  );
}
