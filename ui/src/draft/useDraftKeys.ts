/**
 * Saving, undo and redo of a draft by keys, whatever of the page has the focus: while a draft is on the screen, undo means
 * it, and nothing that was done elsewhere. Fields that are not of its editor, and dialogs, keep their keys.
 */
import { useEffect, useEffectEvent, type KeyboardEvent as ReactKeyboardEvent } from "react";
import { redoDraft, undoDraft } from "./drafts.ts";

interface DraftKeys {
  readonly key: string;
  readonly save: () => void;
  readonly isOff?: boolean;
}

/** What has uses of its own for these keys; the editor hears its fields itself. */
const keeping = "input, textarea, select, [contenteditable], [role=dialog], [role=alertdialog]";

type Pressed = Pick<
  KeyboardEvent,
  "key" | "ctrlKey" | "metaKey" | "altKey" | "shiftKey" | "preventDefault" | "defaultPrevented"
>;

export function useDraftKeys({ key, save, isOff = false }: DraftKeys) {
  const press = (event: Pressed) => {
    if (!(event.ctrlKey || event.metaKey) || event.altKey || isOff) return;
    // The page has taken it before the editor did.
    if (event.defaultPrevented) return;
    const letter = event.key.toLowerCase();
    if (letter === "s") save();
    else if (letter === "z" && !event.shiftKey) undoDraft(key);
    else if (letter === "y" || letter === "z") redoDraft(key);
    else return;
    event.preventDefault();
  };
  // A dialog that has closed, or a button that is gone, leaves the focus to the page; a link beside keeps it.
  const onPage = useEffectEvent((event: KeyboardEvent) => {
    if (!(event.target instanceof Element && event.target.closest(keeping))) press(event);
  });
  useEffect(() => {
    const listener = (event: KeyboardEvent) => onPage(event);
    // Before the window's own commands, which leave alone what is already used.
    addEventListener("keydown", listener, { capture: true });
    return () => removeEventListener("keydown", listener, { capture: true });
  }, []);
  return (event: ReactKeyboardEvent) => press(event);
}
