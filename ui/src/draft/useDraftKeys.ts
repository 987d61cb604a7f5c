/**
 * Saving, undo and redo of a draft by keys, whatever of the page has the focus: while a draft is on the screen, undo means
 * it, and nothing that was done elsewhere. Dialogs, and fields that are not of its editor, keep their keys.
 */
import { useEffect, useEffectEvent, type KeyboardEvent as ReactKeyboardEvent } from "react";
import { redoDraft, undoDraft } from "./drafts.ts";

interface DraftKeys {
  readonly key: string;
  readonly save: () => void;
  readonly isOff?: boolean;
  /** Undo and redo in a field are the field's own: the draft has places that are not in sight of it. */
  readonly fieldsUndo?: boolean;
}

const fields = "input, textarea, select, [contenteditable]";
const dialogs = "[role=dialog], [role=alertdialog]";

const isIn = (event: Pick<Event, "target">, places: string): boolean =>
  event.target instanceof Element && event.target.closest(places) !== null;

type Pressed = Pick<
  KeyboardEvent,
  | "key"
  | "ctrlKey"
  | "metaKey"
  | "altKey"
  | "shiftKey"
  | "preventDefault"
  | "defaultPrevented"
  | "target"
>;

export function useDraftKeys({ key, save, isOff = false, fieldsUndo = false }: DraftKeys) {
  const press = (event: Pressed) => {
    if (!(event.ctrlKey || event.metaKey) || event.altKey || isOff) return;
    // The page has taken it before the editor did.
    if (event.defaultPrevented) return;
    // A dialog is a part of the editor only for React, whose events leave it through the component that drew it.
    if (isIn(event, dialogs)) return;
    const letter = event.key.toLowerCase();
    if (letter === "s") save();
    else if (fieldsUndo && isIn(event, fields)) return;
    else if (letter === "z" && !event.shiftKey) undoDraft(key);
    else if (letter === "y" || letter === "z") redoDraft(key);
    else return;
    event.preventDefault();
  };
  // A dialog that has closed, or a button that is gone, leaves the focus to the page; a link beside keeps it.
  const onPage = useEffectEvent((event: KeyboardEvent) => {
    // The editor hears its fields itself.
    if (!isIn(event, fields)) press(event);
  });
  useEffect(() => {
    const listener = (event: KeyboardEvent) => onPage(event);
    // Before the window's own commands, which leave alone what is already used.
    addEventListener("keydown", listener, { capture: true });
    return () => removeEventListener("keydown", listener, { capture: true });
  }, []);
  return (event: ReactKeyboardEvent) => press(event);
}
