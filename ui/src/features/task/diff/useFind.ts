/**
 * The search through all changes. The engine has no search of its own, so files that are not here yet
 * are read one after the other while something is sought, and what was not looked into is counted.
 */
import { useEffect, useMemo, useRef, useState } from "react";
import type { FileChange } from "#ui/api/generated.ts";
import {
  coverageOf,
  marksOf,
  matchesIn,
  matchFrom,
  toSearch,
  type Match,
  type RowMatch,
} from "./find.ts";
import type { Goal } from "./goal.ts";
import type { DiffRow } from "./hunks.ts";
import type { DiffLoader, FileStates } from "./loader.ts";

export interface Find {
  readonly query: string;
  readonly onQuery: (query: string) => void;
  readonly matches: readonly Match[];
  /** Among the matches; null before the first step. */
  readonly current: number | null;
  readonly step: (way: 1 | -1) => void;
  readonly coverage: ReturnType<typeof coverageOf>;
  readonly marks: ReturnType<typeof marksOf>;
}

const sameMatch = (one: Match, other: Match): boolean =>
  one.path === other.path && one.row === other.row && one.from === other.from;

export function useFind(
  isOpen: boolean,
  files: readonly FileChange[],
  loader: DiffLoader,
  states: FileStates,
  path: string | null,
  onGo: (goal: Goal) => void,
): Find {
  const [query, setQuery] = useState("");
  const [chosen, setChosen] = useState<Match | null>(null);
  const sought = isOpen ? query : "";
  const isSought = sought !== "";

  const latest = useRef(states);
  useEffect(() => {
    latest.current = states;
  });
  useEffect(() => {
    if (!isSought) return undefined;
    const stop = new AbortController();
    const read = async () => {
      const tried = new Set<string>();
      while (!stop.signal.aborted) {
        const next = toSearch(files, latest.current).find((each) => !tried.has(each));
        if (next === undefined) return;
        tried.add(next);
        // One that cannot be read is told by its state.
        await loader.whole(next, stop.signal).catch(() => undefined);
      }
    };
    void read();
    return () => stop.abort();
  }, [isSought, loader, files]);

  const [kept] = useState(
    () =>
      new Map<string, { rows: readonly DiffRow[]; query: string; found: readonly RowMatch[] }>(),
  );
  const matches = useMemo(() => {
    if (sought === "") return [];
    return files.flatMap((change): readonly Match[] => {
      const rows = states.get(change.path)?.loaded?.rows;
      if (!rows) return [];
      let known = kept.get(change.path);
      if (!known || known.rows !== rows || known.query !== sought) {
        known = { rows, query: sought, found: matchesIn(rows, sought) };
        kept.set(change.path, known);
      }
      return known.found.map((match) => ({ ...match, path: change.path }));
    });
  }, [sought, files, states, kept]);
  const place = chosen ? matches.findIndex((match) => sameMatch(match, chosen)) : -1;
  const current = place < 0 ? null : place;
  const marks = useMemo(() => marksOf(matches, current ?? -1), [matches, current]);
  const coverage = useMemo(() => coverageOf(files, states), [files, states]);

  const step = (way: 1 | -1) => {
    if (matches.length === 0) return;
    const order = files.map((change) => change.path);
    const next =
      current === null
        ? matchFrom(matches, order, path)
        : (current + way + matches.length) % matches.length;
    const match = matches[next];
    const row = match && states.get(match.path)?.loaded?.rows[match.row];
    if (!match || row?.type !== "line") return;
    setChosen(match);
    const { new_no: newNo, old_no: oldNo } = row.line;
    onGo({
      path: match.path,
      side: newNo === null ? "old" : "new",
      line: newNo ?? oldNo,
      commentId: null,
      keepsFocus: true,
    });
  };
  return {
    query,
    onQuery: (next) => {
      setQuery(next);
      setChosen(null);
    },
    matches,
    current,
    step,
    coverage,
    marks,
  };
}
