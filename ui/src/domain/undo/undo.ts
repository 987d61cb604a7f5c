/**
 * What a person did and can take back: by the toast that says so, or by keys, the last first. An act that is undone
 * is forgotten, also where undoing it failed: what is in its way is said, and stays after a second press.
 */
import { useStore } from "zustand";
import { createStore } from "zustand/vanilla";
import { ApiError, errorText } from "#ui/api/error.ts";
import { closeToast, showToast } from "#ui/components/Toast.tsx";
import { t } from "#ui/i18n/index.ts";

export interface Undoable {
  readonly id: string;
  /** What was done, e.g. "Moved #3 to Review". */
  readonly title: string;
  readonly undo: () => Promise<unknown>;
}

interface Done extends Undoable {
  readonly toast: string | null;
}

export const undoStore = createStore<{ readonly done: readonly Done[] }>(() => ({ done: [] }));

const kept = 20;
const inSight = 8_000;
let last = 0;

function remember(act: Done): void {
  undoStore.setState(({ done }) => ({
    done: [...done.filter(({ id }) => id !== act.id), act].slice(-kept),
  }));
}

/** It can be undone no more, or was undone. */
export function forgetUndo(id: string): void {
  undoStore.setState(({ done }) =>
    done.some((each) => each.id === id)
      ? { done: done.filter((each) => each.id !== id) }
      : { done },
  );
}

/** Remembers an act that is told of elsewhere, or too small to be told of. */
export function rememberUndo(act: Omit<Undoable, "id"> & { readonly id?: string }): void {
  remember({ id: `act:${(last += 1)}`, ...act, toast: null });
}

/** Says what was done, with a button that takes it back. */
export function offerUndo(act: Omit<Undoable, "id">, detail?: string): void {
  // One such toast at a time: whoever sorts a board would stand before a wall of them.
  for (const { toast } of undoStore.getState().done) if (toast !== null) closeToast(toast);
  const id = `act:${(last += 1)}`;
  const toast = showToast({
    tone: "success",
    title: act.title,
    ...(detail ? { detail } : {}),
    timeout: inSight,
    action: { label: t("undo.action"), onSelect: () => void undo(id) },
  });
  remember({ ...act, id, toast });
}

async function undo(id: string): Promise<void> {
  const act = undoStore.getState().done.find((each) => each.id === id);
  if (!act) return;
  forgetUndo(id);
  if (act.toast !== null) closeToast(act.toast);
  try {
    await act.undo();
    showToast({ title: t("undo.done", { what: act.title }) });
  } catch (error) {
    showToast({
      tone: "danger",
      title: t("undo.failed", { what: act.title }),
      detail: errorText(ApiError.from(error)),
    });
  }
}

export function undoLast(): void {
  const act = undoStore.getState().done.at(-1);
  if (act) void undo(act.id);
}

export const useCanUndo = (): boolean => useStore(undoStore, ({ done }) => done.length > 0);
