/** Colours of the files near what is in sight; a file without them is read as plain text meanwhile. */
import { useEffect, useRef, useState } from "react";
import type { Hunk } from "#ui/api/generated.ts";
import type { FileStates } from "./loader.ts";
import type { Colours } from "./tokens.ts";

/** Colours are made in a worker; where there is none, plain rows say the same. */
const hasWorkers = typeof Worker !== "undefined";

export function useColours(
  states: FileStates,
  near: readonly string[],
): ReadonlyMap<string, Colours> {
  const [colours, setColours] = useState<ReadonlyMap<string, Colours>>(new Map());
  const asked = useRef(new Map<string, readonly Hunk[]>());
  useEffect(() => {
    if (!hasWorkers) return;
    for (const path of near) {
      const loaded = states.get(path)?.loaded;
      if (!loaded?.ready || loaded.plain || loaded.first.too_large) continue;
      const { hunks } = loaded;
      if (hunks.length === 0 || asked.current.get(path) === hunks) continue;
      asked.current.set(path, hunks);
      void import("./highlighter.ts")
        .then(({ coloursOf }) => coloursOf(loaded.first.change, hunks))
        .then((made) => {
          // Lines of other hunks by now: theirs are on the way.
          if (!made || asked.current.get(path) !== hunks) return;
          setColours((known) => new Map(known).set(path, made));
        })
        // Colours are a comfort: without them the rows still tell everything.
        .catch(() => undefined);
    }
  }, [states, near]);
  return colours;
}
