/**
 * Which files the person has seen, remembered on this machine. A mark holds for the content it was
 * set on: when the file changes again, it is unseen again.
 */
import { useStore } from "zustand";
import { persist } from "zustand/middleware";
import { createStore } from "zustand/vanilla";
import type { FileChange } from "#ui/api/generated.ts";

type Marks = Readonly<Record<string, string>>;

interface Viewed {
  /** By task, the one marked last at the end. */
  readonly tasks: Readonly<Record<string, Marks>>;
}

/** Marks of older tasks are forgotten. */
const rememberedTasks = 60;
const none: Marks = {};

export const viewedStore = createStore<Viewed>()(
  persist((): Viewed => ({ tasks: {} }), { name: "forge.viewed", version: 1 }),
);

/** How the file differs, and git's name for its content where that is known. */
export function fingerprint(change: FileChange): string {
  const { kind, added, removed, new_size: size, new_mode: mode, new_blob: blob } = change;
  return `${[kind, added, removed, size, mode].join(":")}#${blob ?? ""}`;
}

/**
 * Whether a fingerprint is of this content. Work that is committed, or attempted again, leaves an
 * unchanged file what it was: a name that git gives it only later tells nothing against it.
 */
export function isSameContent(known: string | undefined, change: FileChange): boolean {
  if (known === undefined) return false;
  const [shape, blob] = known.split("#");
  const [shapeNow, blobNow] = fingerprint(change).split("#");
  return shape === shapeNow && (!blob || !blobNow || blob === blobNow);
}

export function isViewed(marks: Marks, change: FileChange): boolean {
  return isSameContent(marks[change.path], change);
}

export function useViewedMarks(task: string): Marks {
  return useStore(viewedStore, ({ tasks }) => tasks[task] ?? none);
}

export function setViewed(task: string, change: FileChange, viewed: boolean): void {
  viewedStore.setState(({ tasks }) => {
    const { [task]: marks = none, ...others } = tasks;
    const { [change.path]: _, ...rest } = marks;
    const next = viewed ? { ...rest, [change.path]: fingerprint(change) } : rest;
    const kept = Object.entries(others).slice(-rememberedTasks);
    return { tasks: { ...Object.fromEntries(kept), [task]: next } };
  });
}
