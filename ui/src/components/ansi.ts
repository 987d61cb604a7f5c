/**
 * ANSI text to styled spans: pure, total, and blind to everything but SGR. Other escape
 * sequences (cursor moves, titles, links) are dropped; carriage returns overwrite the line as a
 * terminal would. The engine sends spans for whole logs; this is for short tails.
 */
export interface AnsiStyle {
  /** 0-15 for the palette, else a CSS colour. */
  readonly fg?: number | string;
  readonly bg?: number | string;
  readonly bold?: boolean;
  readonly dim?: boolean;
  readonly italic?: boolean;
  readonly underline?: boolean;
  readonly strike?: boolean;
  readonly inverse?: boolean;
}

export interface AnsiSpan {
  readonly text: string;
  readonly style: AnsiStyle;
}

type Draft = { -readonly [Key in keyof AnsiStyle]: AnsiStyle[Key] | undefined };

const plain: AnsiStyle = {};
// CSI, OSC (ended by BEL or ST), then any other two-character escape.
// oxlint-disable no-control-regex
const escapes =
  /\u001b\[([0-?]*)[ -/]*([@-~])|\u001b\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|\u001b[@-Z\\^_]?/g;
const controls = /[\u0000-\u0008\u000b\u000c\u000e-\u001a\u001c-\u001f\u007f]/g;
// oxlint-enable no-control-regex

const channel = (level: number): number => (level === 0 ? 0 : 55 + level * 40);

function indexed(index: number): number | string {
  if (index < 16) return index;
  if (index >= 232) {
    const grey = 8 + (index - 232) * 10;
    return `rgb(${grey} ${grey} ${grey})`;
  }
  const cube = index - 16;
  const [red, green, blue] = [Math.floor(cube / 36), Math.floor(cube / 6) % 6, cube % 6].map(
    channel,
  );
  return `rgb(${red} ${green} ${blue})`;
}

/** Reads the colour after a 38 or 48; answers how many parameters it took. */
function extended(
  codes: readonly number[],
  at: number,
): { colour?: number | string; taken: number } {
  const isByte = (value: number | undefined): value is number =>
    value !== undefined && value >= 0 && value <= 255;
  const [mode, first, second, third] = codes.slice(at + 1, at + 5);
  if (mode === 5 && isByte(first)) return { colour: indexed(first), taken: 2 };
  if (mode === 2 && isByte(first) && isByte(second) && isByte(third)) {
    return { colour: `rgb(${first} ${second} ${third})`, taken: 4 };
  }
  return { taken: codes.length };
}

const switches: Readonly<Record<number, Draft>> = {
  1: { bold: true },
  2: { dim: true },
  3: { italic: true },
  4: { underline: true },
  7: { inverse: true },
  9: { strike: true },
  22: { bold: undefined, dim: undefined },
  23: { italic: undefined },
  24: { underline: undefined },
  27: { inverse: undefined },
  29: { strike: undefined },
  39: { fg: undefined },
  49: { bg: undefined },
};

function applySgr(style: AnsiStyle, parameters: string): AnsiStyle {
  const codes = parameters.split(/[;:]/).map((part) => (part === "" ? 0 : Number(part)));
  let next: Draft = { ...style };
  for (let at = 0; at < codes.length; at += 1) {
    const code = codes[at] ?? 0;
    if (code === 0) next = {};
    else if (code >= 30 && code <= 37) next.fg = code - 30;
    else if (code >= 40 && code <= 47) next.bg = code - 40;
    else if (code >= 90 && code <= 97) next.fg = code - 82;
    else if (code >= 100 && code <= 107) next.bg = code - 92;
    else if (code === 38 || code === 48) {
      const { colour, taken } = extended(codes, at);
      if (colour !== undefined) next[code === 38 ? "fg" : "bg"] = colour;
      at += taken;
    } else Object.assign(next, switches[code]);
  }
  const set = Object.entries(next).filter(([, value]) => value !== undefined);
  return set.length === 0 ? plain : (Object.fromEntries(set) as AnsiStyle);
}

/** Keeps of each line what the last carriage return left in sight. */
function overwrite(text: string): string {
  const unix = text.replaceAll("\r\n", "\n");
  if (!unix.includes("\r")) return unix;
  return unix
    .split("\n")
    .map((line) => {
      const parts = line.split("\r").filter((part) => part !== "");
      return parts.at(-1) ?? "";
    })
    .join("\n");
}

export function parseAnsi(source: string): AnsiSpan[] {
  const text = overwrite(source);
  const spans: AnsiSpan[] = [];
  let style = plain;
  let from = 0;
  const push = (raw: string) => {
    const shown = raw.replace(controls, "");
    if (shown !== "") spans.push({ text: shown, style });
  };
  for (const match of text.matchAll(escapes)) {
    push(text.slice(from, match.index));
    from = match.index + match[0].length;
    if (match[2] === "m") style = applySgr(style, match[1] ?? "");
  }
  push(text.slice(from));
  return spans;
}
