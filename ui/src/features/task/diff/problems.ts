/**
 * Places in the changes that ask for a look: what an auditor found, and lines that the output of a
 * failed check names. Pure.
 */
import type { Comment, FileChange, Review } from "#ui/api/generated.ts";
import { outcomeOf, tailOf } from "../review/checks.ts";
import { concerns } from "./comments.ts";
import { goalOf, type Goal } from "./goal.ts";

/** A path and a line, as compilers, linters and test runners print them. */
const placed = /((?:[\w@.+-]*\/)*[\w@.+-]+\.\w+)(?::|\()(\d+)/g;
// oxlint-disable-next-line no-control-regex
const colours = /\u001B\[[0-9;]*m/g;

/** Where a text, without its colours, names a line of a changed file. */
export interface Named {
  readonly from: number;
  readonly to: number;
  readonly path: string;
  readonly line: number;
}

/** The changed file that a printed path names; the worktree's folder may stand before it. */
function fileNamed(path: string, files: readonly FileChange[]): FileChange | undefined {
  const exact = files.find((each) => each.path === path);
  if (exact || !path.startsWith("/")) return exact;
  return files
    .filter((each) => path.endsWith(`/${each.path}`))
    .toSorted((one, other) => other.path.length - one.path.length)[0];
}

export function placesNamed(text: string, files: readonly FileChange[]): readonly Named[] {
  return [...text.matchAll(placed)].flatMap((match) => {
    const [whole, named = "", line] = match;
    const change = fileNamed(named.replace(/^\.\//, ""), files);
    if (!change || change.kind === "deleted") return [];
    const from = match.index;
    return [{ from, to: from + whole.length, path: change.path, line: Number(line) }];
  });
}

/** The lines of changed files that a text names, each once. */
export function linesNamed(text: string, files: readonly FileChange[]): readonly Goal[] {
  const found = new Map<string, Goal>();
  for (const { path, line } of placesNamed(text.replace(colours, ""), files)) {
    found.set(`${path}:${line}`, { path, side: "new", line, commentId: null });
  }
  return [...found.values()];
}

/** The checks that failed last. */
function failedOutput(reviews: readonly Review[]): string {
  const last = reviews.toSorted((one, other) => one.attempt_number - other.attempt_number).at(-1);
  return (last?.steps ?? [])
    .filter((step) => outcomeOf(step) === "failed")
    .flatMap((step) => [step.diagnoses ?? "", tailOf(step)])
    .join("\n");
}

/** All of them in the order in which one meets them reading. */
export function problemsIn(
  comments: readonly Comment[],
  reviews: readonly Review[],
  files: readonly FileChange[],
): readonly Goal[] {
  const findings = files.flatMap((change) =>
    comments
      .filter(({ source, status }) => source === "auditor" && status !== "resolved")
      .filter((comment) => concerns(comment, change))
      .map((comment) => goalOf(comment, change.path)),
  );
  const goals = [...findings, ...linesNamed(failedOutput(reviews), files)];
  const order = new Map(files.map(({ path }, at) => [path, at]));
  const placeOf = ({ path }: Goal) => order.get(path) ?? 0;
  return goals.toSorted(
    (one, other) => placeOf(one) - placeOf(other) || (one.line ?? 0) - (other.line ?? 0),
  );
}
