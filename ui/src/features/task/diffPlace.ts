/**
 * The address of a line in a task's Diff tab: `tab=diff&file=src/a.ts&line=12&side=old`. Whoever
 * speaks of a line leads there by it: an auditor's finding, a failed check, a notification.
 */
import type { DiffSide } from "#ui/api/generated.ts";
import { formatRoute, setQuery, useRoute, type Query, type RouteName } from "#ui/app/router.ts";

export interface DiffPlace {
  readonly file: string;
  /** From 1; the file as a whole without. */
  readonly line?: number | null;
  /** The version with the task's changes unless said otherwise. */
  readonly side?: DiffSide | null;
}

/** What the address's query says of a place; goes with the rest of the query. */
export function diffQuery({ file, line, side }: DiffPlace): Query {
  return {
    tab: "diff",
    file,
    ...(typeof line === "number" ? { line: String(line) } : {}),
    ...(side === "old" ? { side } : {}),
  };
}

/** The place that a query names; null when it names none. */
export function placeIn(query: Query): Required<DiffPlace> | null {
  const file = query["file"];
  if (query["tab"] !== "diff" || !file) return null;
  const line = Number(query["line"]);
  return {
    file,
    line: Number.isInteger(line) && line > 0 ? line : null,
    side: query["side"] === "old" ? "old" : "new",
  };
}

/** Links to places of the task that is being looked at, beside the board or on its own page. */
export function useDiffHref(): (place: DiffPlace) => string {
  const route = useRoute();
  return (place) => {
    if (route.name === null) return "#/";
    const { file: _file, line: _line, side: _side, ...rest } = route.query;
    return (formatRoute as (name: RouteName, params: unknown, query: Query) => string)(
      route.name,
      route.params,
      { ...rest, ...diffQuery(place) },
    );
  };
}

/** The address names no place any longer: the person went on by hand. */
export function forgetPlace(): void {
  setQuery({ file: null, line: null, side: null });
}
