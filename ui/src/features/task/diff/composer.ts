/**
 * Comments being written. What is typed is a draft of the window's own (`draft/drafts.ts`) until it
 * is saved, so it outlives the tab and the window; which boxes are open and empty does not.
 */
import { useStore } from "zustand";
import { createStore } from "zustand/vanilla";
import type { DiffSide } from "#ui/api/generated.ts";
import { drafts, isDirty, openDraft, resetDraft, writeDraft } from "#ui/draft/drafts.ts";
import type { LineTarget } from "./comments.ts";

export interface Composer extends LineTarget {
  /** Names its draft. */
  readonly key: string;
  readonly path: string;
}

const prefixOf = (taskId: string): string => `comment:${taskId}:`;

export function composerKey(taskId: string, path: string, target: LineTarget): string {
  const { side, line, lastLine } = target;
  return `${prefixOf(taskId)}${side}:${line ?? ""}:${lastLine ?? ""}:${path}`;
}

const numberIn = (text: string | undefined): number | null => (text ? Number(text) : null);

/** The composer that a draft's key names; null for the key of another task or thing. */
export function composerOf(taskId: string, key: string): Composer | null {
  const prefix = prefixOf(taskId);
  if (!key.startsWith(prefix)) return null;
  const [side, line, lastLine, ...path] = key.slice(prefix.length).split(":");
  if (side !== "old" && side !== "new") return null;
  return {
    key,
    path: path.join(":"),
    side: side satisfies DiffSide,
    line: numberIn(line),
    lastLine: numberIn(lastLine),
  };
}

interface Opened {
  /** Perhaps still empty. */
  readonly keys: readonly string[];
  /** Asked for just now: it takes the keyboard. Boxes that only come into sight do not. */
  readonly asked: string | null;
}

export const opened = createStore<Opened>(() => ({ keys: [], asked: null }));

export function openComposer(taskId: string, path: string, target: LineTarget): string {
  const key = composerKey(taskId, path, target);
  openDraft(key, "", null);
  opened.setState(({ keys }) => ({
    keys: keys.includes(key) ? keys : [...keys, key],
    asked: key,
  }));
  return key;
}

/** Closes it; what was written in it is gone. */
export function closeComposer(key: string): void {
  resetDraft(key, "", null);
  opened.setState(({ keys }) => ({ keys: keys.filter((each) => each !== key) }));
}

export const useIsAsked = (key: string): boolean => useStore(opened, ({ asked }) => asked === key);

export const settleAsked = (): void => opened.setState({ asked: null });

export const writeComposer = (key: string, text: string): void => writeDraft(key, "", text);

/** A text instead of a list, so that typing in a box that is open wakes nobody. */
function useKeys(taskId: string): string {
  const prefix = prefixOf(taskId);
  const written = useStore(drafts, (state) =>
    Object.entries(state.drafts)
      .filter(([key, draft]) => key.startsWith(prefix) && isDirty(draft))
      .map(([key]) => key)
      .join("\n"),
  );
  const open = useStore(opened, ({ keys }) =>
    keys.filter((key) => key.startsWith(prefix)).join("\n"),
  );
  return [...new Set(`${open}\n${written}`.split("\n"))].filter(Boolean).sort().join("\n");
}

/** The boxes that are open or hold something, for the whole task. */
export function useComposers(taskId: string): readonly Composer[] {
  const keys = useKeys(taskId);
  return keys.split("\n").flatMap((key) => composerOf(taskId, key) ?? []);
}
