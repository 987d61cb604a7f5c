/**
 * JSON text with the place of everything in it, so that what is found at a path can be shown at a
 * line. Strict: whatever this reads, `JSON.parse` reads. Pure.
 */
export interface JsonNode {
  readonly from: number;
  readonly to: number;
  /** Where the value's key stands, when it has one. */
  readonly key?: { readonly from: number; readonly to: number };
  readonly children?: ReadonlyMap<string | number, JsonNode>;
}

/** What was expected where the text stops being JSON. */
export type Expected = "value" | "key" | "colon" | "comma" | "end";

export interface JsonError {
  readonly offset: number;
  readonly expected: Expected;
  readonly line: number;
  readonly column: number;
}

export type ParsedJson =
  | { readonly ok: true; readonly value: unknown; readonly root: JsonNode }
  | { readonly ok: false; readonly error: JsonError };

export interface LineColumn {
  readonly line: number;
  readonly column: number;
}

/** Both counted from 1. */
export function lineColumnAt(text: string, offset: number): LineColumn {
  const before = text.slice(0, offset);
  const line = before.split("\n").length;
  return { line, column: offset - (before.lastIndexOf("\n") + 1) + 1 };
}

export function offsetAt(text: string, { line, column }: LineColumn): number {
  let start = 0;
  for (let each = 1; each < line; each += 1) {
    const next = text.indexOf("\n", start);
    if (next < 0) return text.length;
    start = next + 1;
  }
  return Math.min(text.length, start + Math.max(0, column - 1));
}

const space = /[ \t\r\n]*/y;
const word =
  /"(?:[ !#-[\]-\uffff]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y;

class Stop extends Error {
  readonly offset: number;
  readonly expected: Expected;
  constructor(offset: number, expected: Expected) {
    super(expected);
    this.offset = offset;
    this.expected = expected;
  }
}

class Reader {
  private at = 0;
  private readonly text: string;
  constructor(text: string) {
    this.text = text;
  }

  whole(): JsonNode {
    const root = this.value();
    this.skip();
    if (this.at < this.text.length) throw new Stop(this.at, "end");
    return root;
  }

  private skip(): void {
    space.lastIndex = this.at;
    space.test(this.text);
    this.at = space.lastIndex;
  }

  private take(character: string): boolean {
    this.skip();
    if (this.text[this.at] !== character) return false;
    this.at += 1;
    return true;
  }

  private scalar(expected: Expected): { from: number; to: number } {
    this.skip();
    const from = this.at;
    word.lastIndex = from;
    if (!word.test(this.text)) throw new Stop(from, expected);
    this.at = word.lastIndex;
    return { from, to: this.at };
  }

  private value(): JsonNode {
    this.skip();
    const from = this.at;
    if (this.take("{")) return this.object(from);
    if (this.take("[")) return this.list(from);
    return this.scalar("value");
  }

  private object(from: number): JsonNode {
    const children = new Map<string | number, JsonNode>();
    if (this.take("}")) return { from, to: this.at, children };
    do {
      this.skip();
      if (this.text[this.at] !== '"') throw new Stop(this.at, "key");
      const key = this.scalar("key");
      if (!this.take(":")) throw new Stop(this.at, "colon");
      const name = JSON.parse(this.text.slice(key.from, key.to)) as string;
      children.set(name, { ...this.value(), key });
    } while (this.take(","));
    if (!this.take("}")) throw new Stop(this.at, "comma");
    return { from, to: this.at, children };
  }

  private list(from: number): JsonNode {
    const children = new Map<string | number, JsonNode>();
    if (this.take("]")) return { from, to: this.at, children };
    do {
      children.set(children.size, this.value());
    } while (this.take(","));
    if (!this.take("]")) throw new Stop(this.at, "comma");
    return { from, to: this.at, children };
  }
}

export function parseJson(text: string): ParsedJson {
  try {
    const root = new Reader(text).whole();
    return { ok: true, value: JSON.parse(text) as unknown, root };
  } catch (thrown) {
    const { offset, expected } = thrown instanceof Stop ? thrown : new Stop(0, "value");
    return { ok: false, error: { offset, expected, ...lineColumnAt(text, offset) } };
  }
}

/** Short values stand on one line, longer ones are opened. */
export function formatJson(value: unknown, width = 96): string {
  const flat = (each: unknown): string => {
    if (Array.isArray(each)) {
      return each.length === 0 ? "[]" : `[${each.map(flat).join(", ")}]`;
    }
    if (typeof each === "object" && each !== null) {
      const members = Object.entries(each).map(
        ([key, member]) => `${JSON.stringify(key)}: ${flat(member)}`,
      );
      return members.length === 0 ? "{}" : `{ ${members.join(", ")} }`;
    }
    return JSON.stringify(each) ?? "null";
  };
  const open = (each: unknown, indent: string, used: number): string => {
    const line = flat(each);
    const isBranch = typeof each === "object" && each !== null;
    if (!isBranch || indent.length + used + line.length <= width) return line;
    const deeper = `${indent}  `;
    const lines = Array.isArray(each)
      ? each.map((item) => deeper + open(item, deeper, 1))
      : Object.entries(each).map(([key, member]) => {
          const head = `${JSON.stringify(key)}: `;
          return deeper + head + open(member, deeper, head.length + 1);
        });
    const [start, end] = Array.isArray(each) ? ["[", "]"] : ["{", "}"];
    return `${start}\n${lines.join(",\n")}\n${indent}${end}`;
  };
  return `${open(value, "", 0)}\n`;
}
