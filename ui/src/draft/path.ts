/** Places in a JSON value, written as the engine writes them: `states[2].gate_config.reject_target`. Pure. */
import type { JsonNode } from "./json.ts";

export type Segment = string | number;
export type Path = readonly Segment[];

const part = /\[(\d+)\]|\[("(?:[^"\\]|\\.)*")\]|\.?([^.[\]]+)/y;

export function parsePath(text: string): Path {
  const path: Segment[] = [];
  let at = 0;
  while (at < text.length) {
    part.lastIndex = at;
    const found = part.exec(text);
    if (!found) return [...path, text.slice(at)];
    const [whole, index, quoted, name] = found;
    at += whole.length;
    if (index !== undefined) path.push(Number(index));
    else if (quoted !== undefined) path.push(JSON.parse(quoted) as string);
    else path.push(name ?? "");
  }
  return path;
}

const plain = /^[\p{L}\p{N}_$-]+$/u;

export function formatPath(path: Path): string {
  return path.reduce<string>((text, segment) => {
    if (typeof segment === "number") return `${text}[${segment}]`;
    if (!plain.test(segment)) return `${text}[${JSON.stringify(segment)}]`;
    return text === "" ? segment : `${text}.${segment}`;
  }, "");
}

/** Whether `path` is `place` or lies in it. */
export function isWithin(path: string, place: string): boolean {
  if (place === "" || path === place) return true;
  const next = path[place.length];
  return path.startsWith(place) && (next === "." || next === "[");
}

type Tree = Readonly<Record<string, unknown>>;

export const isTree = (value: unknown): value is Tree =>
  typeof value === "object" && value !== null && !Array.isArray(value);

export function getAt(root: unknown, path: Path): unknown {
  return path.reduce<unknown>((node, segment) => {
    if (typeof segment === "number") return Array.isArray(node) ? node[segment] : undefined;
    return isTree(node) && Object.hasOwn(node, segment) ? node[segment] : undefined;
  }, root);
}

/** The value with another one at `path`; `undefined` takes the key, or the item, away. */
export function setAt(root: unknown, path: Path, value: unknown): unknown {
  const [segment, ...rest] = path;
  if (segment === undefined) return value;
  if (typeof segment === "number") {
    const list: unknown[] = Array.isArray(root) ? [...root] : [];
    if (rest.length === 0 && value === undefined) list.splice(segment, 1);
    else list[segment] = setAt(list[segment], rest, value);
    return list;
  }
  const tree = isTree(root) ? root : {};
  const inner = setAt(tree[segment], rest, value);
  if (inner !== undefined) return { ...tree, [segment]: inner };
  return Object.fromEntries(Object.entries(tree).filter(([key]) => key !== segment));
}

/** As `setAt`, and branches that became empty on the way go with what was taken. */
export function clearAt(root: unknown, path: Path): unknown {
  let next = setAt(root, path, undefined);
  for (let depth = path.length - 1; depth > 0; depth -= 1) {
    const parent = path.slice(0, depth);
    if (typeof parent.at(-1) === "number") break;
    const value = getAt(next, parent);
    const isEmpty = Array.isArray(value)
      ? value.length === 0
      : isTree(value) && Object.keys(value).length === 0;
    if (!isEmpty) break;
    next = setAt(next, parent, undefined);
  }
  return next;
}

export function moved<Item>(items: readonly Item[], from: number, to: number): Item[] {
  const next = [...items];
  const [item] = next.splice(from, 1);
  if (item !== undefined) next.splice(to, 0, item);
  return next;
}

/** What to underline for a path: its value, a short branch's key, or the nearest thing that is there. */
export function placeOf(root: JsonNode, path: Path): { from: number; to: number } {
  let node = root;
  for (const segment of path) {
    const child = node.children?.get(segment);
    if (!child) break;
    node = child;
  }
  if (node.children && node.key) return node.key;
  if (node.children) return { from: node.from, to: node.from + 1 };
  return { from: node.from, to: node.to };
}
