/**
 * Changes of many files (`?sample=many`): 309 of them with about 30,000 rows. Each is made of a whole
 * old and new text, so that hidden lines can be shown as the engine shows them.
 */
import type {
  DiffLine,
  DiffSummary,
  FileChange,
  FileDiff,
  ReadFileDiff,
} from "#ui/api/generated.ts";
import { file, hunksOf } from "./sampleChanges.ts";

const folders = [
  "src/api",
  "src/billing",
  "src/orders",
  "src/orders/export",
  "src/search",
  "tests",
];
const words = ["total", "customer", "invoice", "region", "order", "discount", "page", "token"];

interface Whole {
  readonly change: FileChange;
  readonly lines: readonly DiffLine[];
}

const wordAt = (place: number): string => words[place % words.length] ?? "value";

/** A file with a change in every so many lines; every third one is new. */
function whole(number: number): Whole {
  const folder = folders[number % folders.length] ?? "src";
  const path = `${folder}/${wordAt(number)}-${number}.ts`;
  const isNew = number % 3 === 0;
  const length = 60 + ((number * 37) % 140);
  const lines: DiffLine[] = [];
  let oldNo = 1;
  let newNo = 1;
  const add = (kind: DiffLine["kind"], text: string) => {
    lines.push({
      kind,
      old_no: kind === "added" ? null : oldNo,
      new_no: kind === "removed" ? null : newNo,
      text,
      no_newline: false,
    });
    if (kind !== "added") oldNo += 1;
    if (kind !== "removed") newNo += 1;
  };
  for (let line = 1; line <= length; line += 1) {
    const word = wordAt(number + line);
    const kept = `  const ${word}${line} = read("${word}", ${line}); // ${path}`;
    if (isNew) add("added", kept);
    else if (line % 25 === 3) {
      add("removed", kept);
      add("added", `  const ${word}${line} = await read("${word}", { line: ${line} });`);
      for (let more = 0; more < 12; more += 1) add("added", `  check(${word}${line}, ${more});`);
    } else add("context", kept);
  }
  const count = (kind: DiffLine["kind"]) => lines.filter((each) => each.kind === kind).length;
  const change = file(path, {
    kind: isNew ? "added" : "modified",
    added: count("added"),
    removed: count("removed"),
    new_blob: `b${number}`,
    ...(isNew ? { old_size: null, old_mode: null } : {}),
  });
  return { change, lines };
}

const count = 309;
const made = new Map<string, Whole>();

function all(): ReadonlyMap<string, Whole> {
  if (made.size === 0) {
    for (let number = 0; number < count; number += 1) {
      const each = whole(number);
      made.set(each.change.path, each);
    }
  }
  return made;
}

export function manySummary(): DiffSummary {
  const files = [...all().values()]
    .map(({ change }) => change)
    .sort((one, other) => (one.path < other.path ? -1 : 1));
  return {
    base: "9f4c1d27ab5e",
    head: null,
    files,
    added: files.reduce((sum, { added }) => sum + added, 0),
    removed: files.reduce((sum, { removed }) => sum + removed, 0),
    outside_review: null,
    there: null,
  };
}

export function manyFileDiff({ path, start, limit, context }: ReadFileDiff): FileDiff {
  const { change, lines } = all().get(path) ?? { change: file(path), lines: [] };
  return hunksOf(change, lines, {
    context: context ?? 3,
    start: start ?? 0,
    limit: limit ?? 2_000,
  });
}
