/** Which files are shown in full: folded ones, generated ones that were asked for, pictures. */
import { useMemo, useState } from "react";
import type { FileChange } from "#ui/api/generated.ts";
import { usePreference } from "#ui/store/preferences.ts";
import type { Shown } from "./useChangeItems.ts";
import { isViewed, useViewedMarks } from "./viewed.ts";

export interface Showing {
  readonly shown: Shown;
  /** Null: as it is by itself, a viewed file folded. */
  readonly fold: (path: string, folded: boolean | null) => void;
  readonly show: (path: string) => void;
  readonly asPicture: (path: string, picture: boolean) => void;
}

function changed(known: ReadonlySet<string>, path: string, has: boolean): ReadonlySet<string> {
  const next = new Set(known);
  if (has) next.add(path);
  else next.delete(path);
  return next;
}

export function useShown(taskId: string): Showing {
  const marks = useViewedMarks(taskId);
  const isOne = usePreference("diffOneFile");
  const [asked, setAsked] = useState<ReadonlySet<string>>(new Set());
  const [pictures, setPictures] = useState<ReadonlySet<string>>(new Set());
  const [folds, setFolds] = useState<ReadonlyMap<string, boolean>>(new Map());
  const shown = useMemo(
    (): Shown => ({
      asked,
      pictures,
      folded: (change: FileChange) => !isOne && (folds.get(change.path) ?? isViewed(marks, change)),
    }),
    [asked, pictures, folds, marks, isOne],
  );
  return {
    shown,
    fold: (path, folded) =>
      setFolds((known) => {
        const next = new Map(known);
        if (folded === null) next.delete(path);
        else next.set(path, folded);
        return next;
      }),
    show: (path) => setAsked((known) => changed(known, path, true)),
    asPicture: (path, picture) => setPictures((known) => changed(known, path, picture)),
  };
}
