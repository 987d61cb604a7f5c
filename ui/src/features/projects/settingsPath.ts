/** Settings by their path ("review_config.ci_steps"), as the merge patch that changes them. Pure. */
type Tree = { readonly [key: string]: unknown };

const isTree = (value: unknown): value is Tree =>
  typeof value === "object" && value !== null && !Array.isArray(value);

export function valueAt(tree: unknown, path: string): unknown {
  return path
    .split(".")
    .reduce<unknown>((node, key) => (isTree(node) ? node[key] : undefined), tree);
}

/** Whether the project says something of its own there. */
export function isOwn(own: unknown, path: string): boolean {
  const value = valueAt(own, path);
  return value !== undefined && value !== null;
}

/** `null` as the value returns to the default. */
export function patchAt(path: string, value: unknown): Tree {
  return path.split(".").reduceRight<unknown>((inner, key) => ({ [key]: inner }), value) as Tree;
}

/** A list as lines of text; numbers are lines, too. */
export function linesAt(tree: unknown, path: string): readonly string[] {
  const value = valueAt(tree, path);
  if (!Array.isArray(value)) return [];
  return value.filter((line) => typeof line === "string" || typeof line === "number").map(String);
}
