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

export function fingerprint(change: FileChange): string {
  return [change.kind, change.added, change.removed, change.new_size, change.new_mode].join(":");
}

export function isViewed(marks: Marks, change: FileChange): boolean {
  return marks[change.path] === fingerprint(change);
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
