/** A project's own settings while they are changed: as one text, as the merge patch that saves them. Pure. */
type Tree = { readonly [key: string]: unknown };

const isTree = (value: unknown): value is Tree =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Settings that have an editor and a draft of their own. */
const elsewhere: ReadonlySet<string> = new Set(["services", "lifecycle_hooks", "workflow"]);

/** A tree after a merge patch (RFC 7396); a branch that became empty is removed. */
export function patched(tree: unknown, patch: unknown): unknown {
  if (!isTree(patch)) return patch;
  const next: Record<string, unknown> = isTree(tree) ? { ...tree } : {};
  for (const [key, value] of Object.entries(patch)) {
    const inner = value === null ? null : patched(next[key], value);
    if (inner === null || (isTree(inner) && Object.keys(inner).length === 0)) delete next[key];
    else next[key] = inner;
  }
  return next;
}

/** Whether the value at a path is removed as a whole: half a host, half a rule or half a price is none. */
const isWhole = (path: string): boolean =>
  path === "code_host" || path === "issues.rule" || path.startsWith("model_prices.");

/**
 * The merge patch that leads from one tree to another. Values are removed one by one: a value that somebody else has added
 * in the same branch stays.
 */
export function patchFrom(before: unknown, after: unknown, place = ""): Tree {
  const one = isTree(before) ? before : {};
  const other = isTree(after) ? after : {};
  const patch: Record<string, unknown> = {};
  const at = (key: string) => (place === "" ? key : `${place}.${key}`);
  for (const [key, value] of Object.entries(one)) {
    if (key in other) continue;
    patch[key] = isTree(value) && !isWhole(at(key)) ? patchFrom(value, {}, at(key)) : null;
  }
  for (const [key, value] of Object.entries(other)) {
    if (isTree(value) && isTree(one[key])) {
      const inner = patchFrom(one[key], value, at(key));
      if (Object.keys(inner).length > 0) patch[key] = inner;
    } else if (textOf(value) !== textOf(one[key])) patch[key] = value;
  }
  return patch;
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isTree(value)) return value;
  return Object.fromEntries(
    Object.keys(value)
      .toSorted()
      .map((key) => [key, sorted(value[key])]),
  );
}

/** The same text for the same tree, in whatever order it was written. */
export const textOf = (tree: unknown): string => JSON.stringify(sorted(tree)) ?? "";

/** The project's own settings that the pages edit. */
export function editedOf(own: unknown): Tree {
  return Object.fromEntries(
    Object.entries(isTree(own) ? own : {}).filter(
      ([key, value]) => !elsewhere.has(key) && value !== null,
    ),
  );
}

/** The paths that a patch changes. */
export function pathsOf(patch: unknown, prefix = ""): readonly string[] {
  if (!isTree(patch)) return [prefix];
  return Object.entries(patch).flatMap(([key, value]) =>
    pathsOf(value, prefix === "" ? key : `${prefix}.${key}`),
  );
}

const within = (one: string, other: string): boolean =>
  one === other || one.startsWith(`${other}.`) || other.startsWith(`${one}.`);

/** Whether two patches of one tree change the same place. */
export function collide(one: unknown, other: unknown): boolean {
  const places = pathsOf(other);
  return pathsOf(one).some((path) => places.some((place) => within(path, place)));
}
