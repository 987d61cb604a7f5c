/** A field over the draft of the settings that is typed in another form than it is saved in. */
import { useEffect, useState } from "react";
import { useSettings } from "./settingsContext.ts";
import { patched, textOf } from "./settingsDraft.ts";
import { isOwn, patchAt, valueAt } from "./settingsPath.ts";

interface Edited<Typed> {
  readonly path: string;
  /** The draft's value as it is typed. */
  readonly shown: Typed;
  /** The value of what is typed; null returns to the default. */
  readonly said: (typed: Typed) => unknown;
  readonly isWrong?: (typed: Typed) => boolean;
}

interface Local<Typed> {
  readonly typed: Typed;
  /** The draft's value that it made. */
  readonly made: string;
}

/** What is typed is kept as it is as long as the draft has the value that it made; another value starts the field anew. */
export function useEdited<Typed>({ path, shown, said, isWrong }: Edited<Typed>) {
  const { view, saved, patch, markWrong } = useSettings();
  const [local, setLocal] = useState<Local<Typed> | null>(null);
  const now = textOf(valueAt(view.own, path) ?? null);
  const typed = local !== null && local.made === now ? local.typed : shown;
  const wrong = isWrong?.(typed) ?? false;
  useEffect(() => {
    markWrong(path, wrong);
    return () => markWrong(path, false);
    // oxlint-disable-next-line react-hooks/exhaustive-deps
  }, [path, wrong]);
  const set = (next: Typed) => {
    const value = said(next);
    // What is the default anyway is not made the project's own by a look at it.
    const isUsual =
      !isOwn(saved.own, path) && textOf(value) === textOf(valueAt(saved.settings, path) ?? null);
    const change = patchAt(path, isUsual ? null : value);
    setLocal({ typed: next, made: textOf(valueAt(patched(view.own, change), path) ?? null) });
    patch(change);
  };
  /** What is not in the draft any more is not shown any more. */
  const leave = () => setLocal(null);
  return { typed, set, leave, wrong };
}
