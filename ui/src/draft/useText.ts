/** A text field whose words outlive the field: another tab, a change of the task, a closed window. */
import { useCallback } from "react";
import { isDirty, resetDraft, useDraft, writeDraft } from "./drafts.ts";

export interface Text {
  readonly text: string;
  /** Something is written that is not saved or sent. */
  readonly isDirty: boolean;
  readonly write: (text: string) => void;
  /** It was saved, sent or given up. */
  readonly drop: () => void;
}

/** What is written under `key`; where nothing is, `base`, which is the text as it is saved. */
export function useText(key: string, base = ""): Text {
  const draft = useDraft(key);
  const dirty = draft !== undefined && isDirty(draft);
  return {
    text: dirty ? draft.text : base,
    isDirty: dirty,
    write: useCallback((text: string) => writeDraft(key, base, text), [key, base]),
    drop: useCallback(() => resetDraft(key, base, null), [key, base]),
  };
}
