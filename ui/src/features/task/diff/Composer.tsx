/** Writes a comment, or rewrites a draft. Nothing typed is lost but by Discard. */
import { useEffect, useEffectEvent, useRef, useState, type KeyboardEvent } from "react";
import { useTranslation } from "react-i18next";
import { isMac } from "#ui/components/combo.ts";
import { Button } from "#ui/components/Button.tsx";
import { TextArea } from "#ui/components/TextField.tsx";
import { useDraft } from "#ui/draft/drafts.ts";
import { ActionError } from "../ActionError.tsx";
import { useAction, type Action } from "../useAction.ts";
import {
  closeComposer,
  settleAsked,
  useIsAsked,
  writeComposer,
  type Composer as Open,
} from "./composer.ts";
import { useNotes } from "./Notes.ts";
import { linesText } from "./words.ts";
import layout from "#ui/components/layout.module.css";
import styles from "./Comments.module.css";

export interface WritingProps {
  readonly label: string;
  readonly text: string;
  readonly onText: (text: string) => void;
  readonly saveLabel: string;
  readonly discardLabel: string;
  readonly action: Action;
  readonly onSave: () => void;
  readonly onDiscard: () => void;
  /** It was opened by asking to write. */
  readonly takesFocus: boolean;
  readonly onFocused?: () => void;
  /** Escape: the text stays. */
  readonly onLeave: () => void;
}

export function Writing({
  label,
  text,
  onText,
  saveLabel,
  discardLabel,
  action,
  onSave,
  onDiscard,
  takesFocus,
  onFocused,
  onLeave,
}: WritingProps) {
  const { t } = useTranslation();
  const form = useRef<HTMLFormElement>(null);
  const focus = useEffectEvent(() => {
    form.current?.querySelector("textarea")?.focus();
    onFocused?.();
    // Once the rows have made room for it.
    requestAnimationFrame(() => form.current?.scrollIntoView?.({ block: "nearest" }));
  });
  useEffect(() => {
    if (takesFocus) focus();
  }, [takesFocus]);
  const blank = text.trim() === "";
  const save = () => {
    if (!blank && action.busy === null) onSave();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const mod = isMac ? event.metaKey : event.ctrlKey;
    if (event.key === "Enter" && mod) {
      event.preventDefault();
      save();
    } else if (event.key === "Escape") {
      event.preventDefault();
      event.stopPropagation();
      onLeave();
    }
  };
  return (
    <form
      ref={form}
      className={styles.composer}
      onSubmit={(event) => {
        event.preventDefault();
        save();
      }}
    >
      <TextArea label={label} rows={3} value={text} onChange={onText} onKeyDown={onKeyDown} />
      <ActionError
        title={t("comments.saveFailed")}
        error={action.error}
        onDismiss={action.dismiss}
      />
      <div className={styles.buttons}>
        <Button
          size="sm"
          variant="primary"
          type="submit"
          keys="mod+enter"
          disabled={blank}
          busy={action.busy !== null}
        >
          {saveLabel}
        </Button>
        <Button size="sm" variant="ghost" onClick={onDiscard}>
          {discardLabel}
        </Button>
        {!blank && <span className={layout.note}>{t("comments.kept")}</span>}
      </div>
    </form>
  );
}

/** For lines, or the whole file, that have no such comment yet. */
export function Composer({ composer }: { composer: Open }) {
  const { t } = useTranslation();
  const { taskId, onLeave } = useNotes();
  const action = useAction();
  const asked = useIsAsked(composer.key);
  const [saved, setSaved] = useState(false);
  const { key, path, side, line, lastLine } = composer;
  const text = useDraft(key)?.text ?? "";
  if (saved) return null;
  const save = async () => {
    const made = await action.run("comment_create", {
      task_id: taskId,
      path,
      side,
      line,
      last_line: lastLine,
      text: text.trim(),
    });
    if (!made) return;
    setSaved(true);
    closeComposer(key);
    onLeave();
  };
  return (
    <Writing
      label={
        line === null
          ? t("comments.onFile", { path })
          : t("comments.onLines", { lines: linesText(line, lastLine, side, t) })
      }
      text={text}
      onText={(next) => writeComposer(key, next)}
      saveLabel={t("comments.saveDraft")}
      discardLabel={text.trim() === "" ? t("action.cancel") : t("comments.discard")}
      action={action}
      onSave={() => void save()}
      onDiscard={() => {
        closeComposer(key);
        onLeave();
      }}
      takesFocus={asked}
      onFocused={settleAsked}
      onLeave={() => {
        if (text.trim() === "") closeComposer(key);
        onLeave();
      }}
    />
  );
}
