/** Links in styled text. Pure. */
import type { AnsiSpan } from "./ansi.ts";

/** A part of a text, by its letters, that leads somewhere. */
export interface TextLink {
  readonly from: number;
  readonly to: number;
  readonly href: string;
}

export interface LinkedSpans {
  readonly spans: readonly AnsiSpan[];
  /** Where they lead; absent for what leads nowhere. */
  readonly href?: string;
}

/** The part of the spans' text between two letters. */
function between(spans: readonly AnsiSpan[], from: number, to: number): readonly AnsiSpan[] {
  const found: AnsiSpan[] = [];
  let at = 0;
  for (const { text, style } of spans) {
    const part = text.slice(Math.max(0, from - at), Math.max(0, to - at));
    if (part !== "") found.push({ text: part, style });
    at += text.length;
  }
  return found;
}

/** The spans in runs: those of a link together, whatever their colours, and what is between the links. */
export function cutAtLinks(
  spans: readonly AnsiSpan[],
  links: readonly TextLink[],
): readonly LinkedSpans[] {
  if (links.length === 0) return [{ spans }];
  const end = spans.reduce((sum, { text }) => sum + text.length, 0);
  const runs: LinkedSpans[] = [];
  let at = 0;
  for (const { from, to, href } of links) {
    if (from > at) runs.push({ spans: between(spans, at, from) });
    runs.push({ spans: between(spans, from, to), href });
    at = to;
  }
  if (at < end) runs.push({ spans: between(spans, at, end) });
  return runs;
}
