/** A field over the draft of the settings that is typed in another form than it is saved in. */
import { useEffect, useState } from "react";
import { useSettings } from "./settingsContext.ts";
import { patched, textOf } from "./settingsDraft.ts";
import { isOwn, patchAt, valueAt } from "./settingsPath.ts";

interface Edited<Typed> {
  readonly path: string;
  /** The draft's value as it is typed. */
  readonly shown: Typed;
  /** The value that the typed text means; null returns to the default. */
  readonly said: (typed: Typed) => unknown;
  readonly isWrong?: (typed: Typed) => boolean;
}

interface Local<Typed> {
  /** The typed text; null while the field shows the draft's value. */
  readonly typed: { readonly text: Typed } | null;
  /** The draft's value that the typed text made, or that was read. */
  readonly made: string;
  /** How many times the draft took another value than the one typed here. */
  readonly turn: number;
}

/**
 * Typed text is kept as it is as long as the draft has the value that the text made; another value starts the field anew.
 * `turn` counts these starts, as the key of a field that keeps text of its own.
 */
export function useEdited<Typed>({ path, shown, said, isWrong }: Edited<Typed>) {
  const { view, saved, patch, markWrong } = useSettings();
  const now = textOf(valueAt(view.own, path) ?? null);
  const [local, setLocal] = useState<Local<Typed>>({ typed: null, made: now, turn: 0 });
  // The value was changed by something else than this field: the typed text goes.
  if (local.made !== now) setLocal({ typed: null, made: now, turn: local.turn + 1 });
  const typed = local.typed !== null && local.made === now ? local.typed.text : shown;
  const wrong = isWrong?.(typed) ?? false;
  useEffect(() => {
    markWrong(path, wrong);
    return () => markWrong(path, false);
    // oxlint-disable-next-line react-hooks/exhaustive-deps
  }, [path, wrong]);
  const set = (next: Typed) => {
    const value = said(next);
    // A value that equals the default is not made the project's own.
    const isUsual =
      !isOwn(saved.own, path) && textOf(value) === textOf(valueAt(saved.settings, path) ?? null);
    const change = patchAt(path, isUsual ? null : value);
    const made = textOf(valueAt(patched(view.own, change), path) ?? null);
    setLocal(({ turn }) => ({ typed: { text: next }, made, turn }));
    patch(change);
  };
  /** Shows the value as the draft has it: text that makes no value goes. */
  const leave = () => setLocal((before) => ({ ...before, typed: null }));
  return { typed, set, leave, wrong, turn: local.turn };
}
