/** Words of a line with their colours, and the same with marks where something was found. Pure. */
import type { CSSProperties } from "react";

export interface Token {
  readonly text: string;
  /** Colours for light and dark, as custom properties. */
  readonly style?: CSSProperties;
  /** The word differs from the other version of the line. */
  readonly changed?: boolean;
}

export type Tokens = readonly Token[];

/** Coloured lines of one file, by their numbers. */
export interface Colours {
  readonly old: ReadonlyMap<number, Tokens>;
  readonly new: ReadonlyMap<number, Tokens>;
}

export interface Mark {
  readonly from: number;
  readonly to: number;
  /** It is the one that was gone to. */
  readonly current: boolean;
}

export interface Piece extends Token {
  readonly mark: "none" | "found" | "current";
}

/** Cuts words where marks begin and end. */
export function marked(tokens: Tokens, marks: readonly Mark[]): readonly Piece[] {
  if (marks.length === 0) return tokens.map((token) => ({ ...token, mark: "none" as const }));
  const pieces: Piece[] = [];
  let start = 0;
  for (const token of tokens) {
    const end = start + token.text.length;
    const cuts = new Set([start, end]);
    for (const { from, to } of marks) {
      if (from > start && from < end) cuts.add(from);
      if (to > start && to < end) cuts.add(to);
    }
    const places = [...cuts].sort((one, other) => one - other);
    for (const [at, from] of places.entries()) {
      const to = places[at + 1];
      if (to === undefined || to === from) continue;
      const mark = marks.find((each) => each.from <= from && each.to >= to);
      pieces.push({
        ...token,
        text: token.text.slice(from - start, to - start),
        mark: mark ? (mark.current ? "current" : "found") : "none",
      });
    }
    start = end;
  }
  return pieces;
}

/** What of a hypertext tree makes words of a line. */
export interface Node {
  readonly type: string;
  readonly value?: string;
  readonly properties?: Readonly<Record<string, unknown>>;
  readonly children?: readonly Node[];
}

function styleOf(text: unknown): CSSProperties | undefined {
  if (typeof text !== "string") return undefined;
  const entries = text
    .split(";")
    .map((part) => part.split(":"))
    .filter(([name, value]) => name?.trim().startsWith("--") && value)
    .map(([name, value]) => [name?.trim(), value?.trim()]);
  return entries.length > 0 ? (Object.fromEntries(entries) as CSSProperties) : undefined;
}

/** A highlighted line as words. */
export function flattened(line: Node): Tokens {
  const tokens: Token[] = [];
  const walk = (node: Node, style: CSSProperties | undefined, changed: boolean) => {
    if (node.type === "text") {
      const text = node.value?.replace(/\n$/, "") ?? "";
      if (text !== "") {
        tokens.push({ text, ...(style ? { style } : {}), ...(changed ? { changed } : {}) });
      }
      return;
    }
    const own = styleOf(node.properties?.["style"]) ?? style;
    const differs = changed || node.properties?.["data-diff-span"] !== undefined;
    for (const child of node.children ?? []) walk(child, own, differs);
  };
  walk(line, undefined, false);
  return tokens;
}
