/** One comment: who, what, how it stands, and what can be done about it. */
import {
  ChevronDown,
  ChevronRight,
  CircleAlert,
  CircleCheck,
  ExternalLink,
  Info,
  Pencil,
  RotateCcw,
  Trash2,
  TriangleAlert,
} from "lucide-react";
import { useEffect, useEffectEvent, useRef, useState, type ReactNode } from "react";
import { useTranslation } from "react-i18next";
import type { Comment, Severity } from "#ui/api/generated.ts";
import { Badge, type Tone } from "#ui/components/Badge.tsx";
import { Button } from "#ui/components/Button.tsx";
import { IconButton } from "#ui/components/IconButton.tsx";
import { Markdown } from "#ui/components/Markdown.tsx";
import { RelativeTime } from "#ui/components/RelativeTime.tsx";
import { offerCommentBack } from "#ui/domain/undo/acts.ts";
import { editDraft, openDraft, resetDraft, useDraft, useIsDirty } from "#ui/draft/drafts.ts";
import { usePlatform } from "#ui/platform/PlatformContext.tsx";
import { ActionError } from "../ActionError.tsx";
import { useAction, type Action } from "../useAction.ts";
import { Writing } from "./Composer.tsx";
import { useNotes } from "./Notes.ts";
import { authorText, whereText } from "./words.ts";
import layout from "#ui/components/layout.module.css";
import styles from "./Comments.module.css";

const severities: Readonly<Record<Severity, { readonly tone: Tone; readonly icon: ReactNode }>> = {
  error: { tone: "danger", icon: <CircleAlert /> },
  warning: { tone: "warning", icon: <TriangleAlert /> },
  info: { tone: "neutral", icon: <Info /> },
};

/** The text of a draft while it is rewritten outlives the tab, too. */
const rewriteKey = (id: string): string => `comment.rewrite:${id}`;

function Rewrite({
  comment,
  asked,
  onDone,
}: {
  comment: Comment;
  asked: boolean;
  onDone: () => void;
}) {
  const { t } = useTranslation();
  const action = useAction();
  const key = rewriteKey(comment.id);
  const text = useDraft(key)?.text ?? comment.text;
  const leave = () => {
    resetDraft(key, comment.text, null);
    onDone();
  };
  const save = async () => {
    const input = { comment_id: comment.id, text: text.trim() };
    if (await action.run("comment_update", input)) leave();
  };
  return (
    <Writing
      label={t("comments.rewrite", { where: whereText(comment, t) })}
      text={text}
      onText={(next) => {
        openDraft(key, comment.text, null);
        editDraft(key, next, key);
      }}
      saveLabel={t("comments.saveDraft")}
      discardLabel={text === comment.text ? t("action.cancel") : t("comments.discard")}
      action={action}
      onSave={() => void save()}
      onDiscard={leave}
      takesFocus={asked}
      onLeave={() => {
        if (text === comment.text) onDone();
      }}
    />
  );
}

function Excerpt({ comment }: { comment: Comment }) {
  const { t } = useTranslation();
  return (
    <>
      <p className={layout.note}>{t("comments.outdatedText")}</p>
      {comment.excerpt.length > 0 && (
        <pre
          className={styles.excerpt}
          aria-label={t("comments.excerpt")}
          // A scrolling region must be reachable by keyboard.
          // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
          tabIndex={0}
        >
          {comment.excerpt.join("\n")}
        </pre>
      )}
    </>
  );
}

/** Becomes the focus when it is what was gone to. */
function useArrival(id: string, onArrived: () => void) {
  const { wanted, onFound } = useNotes();
  const box = useRef<HTMLElement>(null);
  const arrive = useEffectEvent(() => {
    onArrived();
    box.current?.focus({ preventScroll: true });
    onFound();
    // Once the rows have made room for it.
    requestAnimationFrame(() => box.current?.scrollIntoView?.({ block: "nearest" }));
  });
  useEffect(() => {
    if (wanted === id) arrive();
  }, [wanted, id]);
  return box;
}

/** Where it comes from, how grave it is, and how it stands. */
function Marks({ comment }: { comment: Comment }) {
  const { t } = useTranslation();
  const { status, severity, source, outdated } = comment;
  return (
    <>
      {source !== "person" && <Badge look="outline">{t(`comments.source.${source}`)}</Badge>}
      {severity && <Badge {...severities[severity]}>{t(`comments.severity.${severity}`)}</Badge>}
      {status === "draft" && (
        <Badge tone="warning" icon={<Pencil />}>
          {t("comments.status.draft")}
        </Badge>
      )}
      {status === "sent" && source === "person" && <Badge>{t("comments.status.sent")}</Badge>}
      {status === "resolved" && (
        <Badge tone="success" icon={<CircleCheck />}>
          {t("comments.status.resolved")}
        </Badge>
      )}
      {outdated && <Badge>{t("comments.outdated")}</Badge>}
    </>
  );
}

interface ToolsProps {
  readonly comment: Comment;
  readonly action: Action;
  readonly folded: boolean;
  readonly onFold: () => void;
  readonly onEdit: () => void;
}

function DraftTools({ comment, action, onEdit }: Omit<ToolsProps, "folded" | "onFold">) {
  const { t } = useTranslation();
  const platform = usePlatform();
  const remove = async () => {
    const done = await action.run("comment_delete", { comment_id: comment.id });
    if (done) offerCommentBack(platform, comment);
  };
  return (
    <>
      <IconButton label={t("comments.edit")} icon={<Pencil />} size="sm" onClick={onEdit} />
      <IconButton
        label={t("comments.delete")}
        icon={<Trash2 />}
        size="sm"
        disabled={action.busy !== null}
        onClick={() => void remove()}
      />
    </>
  );
}

function ResolvedTools({ comment, action, folded, onFold }: Omit<ToolsProps, "onEdit">) {
  const { t } = useTranslation();
  return (
    <>
      <IconButton
        label={t("comments.reopen")}
        icon={<RotateCcw />}
        size="sm"
        disabled={action.busy !== null}
        onClick={() =>
          void action.run("comment_update", { comment_id: comment.id, resolved: false })
        }
      />
      <IconButton
        label={t(folded ? "comments.unfold" : "comments.fold")}
        icon={folded ? <ChevronRight /> : <ChevronDown />}
        size="sm"
        aria-expanded={!folded}
        onClick={onFold}
      />
    </>
  );
}

/** What can be done about it. */
function Tools(props: ToolsProps) {
  const { t } = useTranslation();
  const platform = usePlatform();
  const { comment, action } = props;
  const { status, url } = comment;
  return (
    <span className={styles.tools}>
      {url && (
        <IconButton
          label={t("comments.atHost")}
          icon={<ExternalLink />}
          size="sm"
          onClick={() => void platform.openExternal(url)}
        />
      )}
      {status === "draft" && <DraftTools {...props} />}
      {status === "resolved" && <ResolvedTools {...props} />}
      {status === "sent" && (
        <Button
          size="sm"
          variant="ghost"
          icon={<CircleCheck />}
          busy={action.busy !== null}
          onClick={() =>
            void action.run("comment_update", { comment_id: comment.id, resolved: true })
          }
        >
          {t("comments.resolve")}
        </Button>
      )}
    </span>
  );
}

export interface CommentCardProps {
  readonly comment: Comment;
  /** It stands somewhere else than beside its lines. */
  readonly away?: boolean;
}

export function CommentCard({ comment, away = false }: CommentCardProps) {
  const { t } = useTranslation();
  const platform = usePlatform();
  const action = useAction();
  const [editing, setEditing] = useState(false);
  const unfinished = useIsDirty(rewriteKey(comment.id));
  const [unfolded, setUnfolded] = useState(false);
  const box = useArrival(comment.id, () => setUnfolded(true));
  const { status, outdated } = comment;
  const folded = status === "resolved" && !unfolded;
  const author = authorText(comment, t);
  const where = whereText(comment, t);
  if (status === "draft" && (editing || unfinished)) {
    return <Rewrite comment={comment} asked={editing} onDone={() => setEditing(false)} />;
  }
  return (
    <article
      ref={box}
      className={styles.card}
      data-status={status}
      data-folded={folded || undefined}
      data-comment={comment.id}
      aria-label={t("comments.by", { author, where })}
      // Next and previous comment lead here.
      tabIndex={-1}
    >
      <header className={styles.head}>
        <span className={styles.author}>{author}</span>
        <Marks comment={comment} />
        <span className={layout.note}>
          {where}
          {away && ` · ${t("comments.notShown")}`}
        </span>
        <span className={layout.note}>
          <RelativeTime at={comment.created_at} />
        </span>
        <Tools
          comment={comment}
          action={action}
          folded={folded}
          onFold={() => setUnfolded(folded)}
          onEdit={() => setEditing(true)}
        />
      </header>
      {!folded && (
        <div className={styles.body}>
          {outdated && <Excerpt comment={comment} />}
          <Markdown source={comment.text} onLink={(href) => void platform.openExternal(href)} />
        </div>
      )}
      <ActionError
        title={t("comments.changeFailed")}
        error={action.error}
        onDismiss={action.dismiss}
      />
    </article>
  );
}
