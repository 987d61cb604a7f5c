/** Places in conflict as git marks them, taken apart, and found again in whole files. Pure. */
import type { State, Task } from "#ui/api/generated.ts";

export type Side = "base" | "ours" | "theirs";

export interface Block {
  /** Whose lines these are; `context` is what both have. */
  readonly side: Side | "context";
  readonly lines: readonly string[];
}

/** One place where the sides disagree, with what is around it. */
export type Place = readonly Block[];

const markers = { start: "<<<<<<<", base: "|||||||", middle: "=======", end: ">>>>>>>" } as const;

const isMarker = (line: string, marker: string): boolean =>
  line === marker || line.startsWith(`${marker} `);

/** Where each side's lines begin in its own file, from 1. */
export type Starts = Readonly<Partial<Record<Side, number>>>;

export interface SideLines {
  readonly side: Side;
  readonly first: number;
  /** Before the first one: the side has no line there. */
  readonly last: number;
}

/** The lines of a place in the files of the sides whose place is known. */
export function sideLines(place: Place, starts: Starts): readonly SideLines[] {
  return place.flatMap(({ side, lines }) => {
    const first = side === "context" ? undefined : starts[side];
    if (side === "context" || first === undefined) return [];
    return [{ side, first, last: first + lines.length - 1 }];
  });
}

/** A context that runs into the next place ends there: that one comes with a text of its own. */
export function placeOf(text: string): Place {
  const blocks: { side: Block["side"]; lines: string[] }[] = [{ side: "context", lines: [] }];
  const open = (side: Block["side"]) => blocks.push({ side, lines: [] });
  let ended = false;
  for (const line of text.split("\n")) {
    const side = blocks.at(-1)?.side ?? "context";
    if (side === "context" && isMarker(line, markers.start)) {
      if (ended) break;
      open("ours");
    } else if (side === "ours" && isMarker(line, markers.base)) open("base");
    else if ((side === "ours" || side === "base") && isMarker(line, markers.middle)) open("theirs");
    else if (side === "theirs" && isMarker(line, markers.end)) {
      ended = true;
      open("context");
    } else blocks.at(-1)?.lines.push(line);
  }
  return blocks.filter(({ side, lines }) => side !== "context" || lines.length > 0);
}

/** Lines of a text; the line feed that ends the last one begins no other. */
export function linesOf(text: string): readonly string[] {
  if (text === "") return [];
  const lines = text.split("\n");
  return lines.at(-1) === "" ? lines.slice(0, -1) : lines;
}

/** Where these lines stand one after the other, from `from` on; null when they do not. */
function find(lines: readonly string[], wanted: readonly string[], from: number): number | null {
  for (let at = from; at + wanted.length <= lines.length; at += 1) {
    if (wanted.every((line, index) => lines[at + index] === line)) return at;
  }
  return null;
}

/** The lines of one side, by their index, that are in conflict. */
export function conflictLines(
  lines: readonly string[],
  places: readonly Place[],
  side: Side,
): ReadonlySet<number> {
  const marked = new Set<number>();
  let from = 0;
  for (const place of places) {
    const wanted = place.find((block) => block.side === side)?.lines ?? [];
    const at = wanted.length === 0 ? null : find(lines, wanted, from);
    if (at === null) continue;
    for (let index = at; index < at + wanted.length; index += 1) marked.add(index);
    from = at + wanted.length;
  }
  return marked;
}

export type Resolver = "person" | "agent" | "checks" | "nobody";

/** Whose turn it is; `nobody`: the task is closed and the conflict is history. */
export function resolverOf(
  task: Pick<Task, "error_annotation" | "live">,
  state: State | undefined,
): Resolver {
  if (state?.kind === "terminal") return "nobody";
  if (task.error_annotation || state?.kind === "blocked") return "person";
  if (task.live || state?.kind === "active") return "agent";
  return state?.kind === "gate" ? "checks" : "person";
}
