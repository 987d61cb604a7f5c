/** The changes of a task in the sample `diff`: files of every kind, one of them far too long. */
import type {
  DiffLine,
  DiffSummary,
  FileChange,
  FileDiff,
  Hunk,
  ReadFileDiff,
  Scope,
} from "#ui/api/generated.ts";
import { cast, first, recorded } from "./recorded.ts";

const changedFile = first({
  items: recorded("task_diff", { task_id: cast.tasks.done }).files,
});

export function file(path: string, change: Partial<FileChange> = {}): FileChange {
  return {
    ...changedFile,
    path,
    kind: "modified",
    old_mode: "100644",
    added: 0,
    removed: 0,
    old_size: 4_120,
    new_size: 4_655,
    new_blob: null,
    ...change,
  };
}

/** A hunk out of lines with the signs of a patch. */
export function sampleHunk(oldStart: number, newStart: number, header: string, text: string): Hunk {
  let oldNo = oldStart;
  let newNo = newStart;
  const lines = text.split("\n").map((line): DiffLine => {
    const sign = line[0];
    const kind = sign === "+" ? "added" : sign === "-" ? "removed" : "context";
    const shown: DiffLine = {
      kind,
      old_no: kind === "added" ? null : oldNo,
      new_no: kind === "removed" ? null : newNo,
      text: line.slice(1),
      no_newline: false,
    };
    if (kind !== "added") oldNo += 1;
    if (kind !== "removed") newNo += 1;
    return shown;
  });
  return {
    old_start: oldStart,
    old_lines: oldNo - oldStart,
    new_start: newStart,
    new_lines: newNo - newStart,
    header,
    lines,
  };
}

const login = [
  sampleHunk(
    1,
    1,
    "",
    ` import { hash } from "./hash.ts";
-import { config } from "./config.ts";
+import { settings } from "./settings.ts";
+import { takeToken } from "./rate/limit.ts";
 
 export interface Credentials {`,
  ),
  sampleHunk(
    18,
    19,
    "export async function login(given: Credentials)",
    `   const user = await findUser(given.name);
   if (!user) return refuse("unknown");
-  if (config.lockout && user.failures > 5) return refuse("locked");
+  if (!takeToken(given.address)) return refuse("too many attempts");
+  if (settings.lockout && user.failures > settings.lockout) {
+    return refuse("locked");
+  }
   const matches = await hash.verify(user.secret, given.password);
   if (!matches) {
     user.failures += 1;
     return refuse("wrong password");`,
  ),
  sampleHunk(
    44,
    48,
    "function refuse(reason: string)",
    ` function refuse(reason: string) {
-  log.info("refused", reason);
+  log.warn("refused", { reason });
   return { ok: false, reason };
 }`,
  ),
];
const limit = [
  sampleHunk(
    1,
    1,
    "",
    `+/** Five attempts a minute per address. */
+const perMinute = 5;
+const buckets = new Map<string, { tokens: number; at: number }>();
+
+export function takeToken(address: string): boolean {
+  const now = Date.now();
+  const bucket = buckets.get(address) ?? { tokens: perMinute, at: now };
+  bucket.tokens = Math.min(perMinute, bucket.tokens + ((now - bucket.at) / 60_000) * perMinute);
+  bucket.at = now;
+  buckets.set(address, bucket);
+  if (bucket.tokens < 1) return false;
+  bucket.tokens -= 1;
+  return true;
+}`,
  ),
];
const settings = [
  sampleHunk(
    3,
    3,
    "export interface Config",
    ` 
-export const config = { lockout: true };
+export const settings = { lockout: 5 };
 
 export function read(path: string) {`,
  ),
];

/** One change in every ten lines. */
function long(count: number): Hunk[] {
  const lines: string[] = [];
  for (let line = 1; line <= count; line += 1) {
    if (line % 10 === 0) {
      lines.push(`-  INSERT INTO orders VALUES (${line}, 'open');`);
      lines.push(`+  INSERT INTO orders VALUES (${line}, 'open', now());`);
    } else lines.push(`   SELECT ${line} AS line_number, 'some text to read' AS words;`);
  }
  return [sampleHunk(1, 1, "", lines.join("\n"))];
}

const contents: Readonly<Record<string, () => Hunk[]>> = {
  "assets/mark.svg": () => [
    sampleHunk(
      1,
      1,
      "",
      ` <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24" width="96" height="96">
-  <path d="M12 2l9 18H3z" fill="#64748b"/>
+  <path d="M12 2l9 18H3z" fill="#0f766e"/>
 </svg>`,
    ),
  ],
  "src/login.ts": () => login,
  "src/rate/limit.ts": () => limit,
  "src/settings.ts": () => settings,
  "db/long.sql": () => long(4_000),
  "db/monster.sql": () => long(100_000),
};

export const sampleFiles: FileChange[] = [
  file("assets/data.bin", { binary: true, kind: "added", old_size: null, new_size: 4_655 }),
  file("assets/hero.png", { binary: true, old_size: 131, new_size: 24_800_000 }),
  file("assets/logo.png", {
    binary: true,
    old_size: 597,
    new_size: 604,
    old_blob: "7fcf8edba8c0ae30",
    new_blob: "ea1bcafd47bb7ba2",
  }),
  file("assets/mark.svg", { added: 1, removed: 1, old_size: 148, new_size: 151 }),
  file("db/long.sql", { added: 400, removed: 400, old_size: 220_000, new_size: 224_000 }),
  file("db/monster.sql", { added: 10_000, removed: 10_000 }),
  file("package-lock.json", { generated: true, added: 312, removed: 48 }),
  file("src/login.ts", { added: 7, removed: 3 }),
  file("src/rate/limit.ts", { kind: "added", added: 14, old_size: null, old_mode: null }),
  file("src/settings.ts", { kind: "renamed", old_path: "src/config.ts", added: 1, removed: 1 }),
];

const pages = new Map<string, Hunk[]>();
const rowsOf = (path: string): Hunk[] => {
  const known = pages.get(path) ?? contents[path]?.() ?? [];
  pages.set(path, known);
  return known;
};

export function sampleFileDiff({ path, start, limit: most }: ReadFileDiff): FileDiff {
  const change = sampleFiles.find((each) => each.path === path) ?? file(path);
  const hunks = rowsOf(path);
  const total = hunks.reduce((sum, { lines }) => sum + lines.length, 0);
  const from = start ?? 0;
  const to = from + (most ?? 2_000);
  let row = 0;
  const cut = hunks.flatMap((hunk) => {
    const first = row;
    row += hunk.lines.length;
    const lines = hunk.lines.slice(Math.max(0, from - first), Math.max(0, to - first));
    return lines.length === 0 ? [] : [{ ...hunk, lines }];
  });
  return {
    change,
    hunks: cut,
    too_large: false,
    lossy: false,
    next_start: to < total ? to : null,
    total_rows: total,
  };
}

/** The hunks of a whole text with so much around each change, cut to a page as the engine cuts them. */
export function hunksOf(
  change: FileChange,
  lines: readonly DiffLine[],
  { context, start, limit }: { context: number; start: number; limit: number },
): FileDiff {
  const near = new Set<number>();
  for (const [place, { kind }] of lines.entries()) {
    if (kind === "context") continue;
    const last = Math.min(lines.length - 1, place + context);
    for (let at = Math.max(0, place - context); at <= last; at += 1) near.add(at);
  }
  const hunks: Hunk[] = [];
  let row = 0;
  let before = -2;
  let total = 0;
  for (const [place, line] of lines.entries()) {
    if (!near.has(place)) continue;
    const isNew = place !== before + 1;
    before = place;
    total += 1;
    const at = row;
    row += 1;
    if (isNew || hunks.length === 0) {
      hunks.push({
        old_start: line.old_no ?? 0,
        old_lines: 0,
        new_start: line.new_no ?? 0,
        new_lines: 0,
        header: "",
        lines: [],
      });
    }
    const hunk = hunks.at(-1);
    if (!hunk) continue;
    if (line.kind !== "added") hunk.old_lines += 1;
    if (line.kind !== "removed") hunk.new_lines += 1;
    if (hunk.old_start === 0) hunk.old_start = line.old_no ?? 0;
    if (hunk.new_start === 0) hunk.new_start = line.new_no ?? 0;
    if (at >= start && at < start + limit) hunk.lines.push(line);
  }
  return {
    change,
    hunks: hunks.filter((hunk) => hunk.lines.length > 0),
    too_large: false,
    lossy: false,
    next_start: start + limit < total ? start + limit : null,
    total_rows: total,
  };
}

export const sampleSummary = (scope: Scope | null | undefined): DiffSummary => {
  const shown =
    scope === "since_review" ? sampleFiles.slice(7, 9) : scope === "uncommitted" ? [] : sampleFiles;
  return {
    base: "9f4c1d27ab5e",
    head: scope === "turn" ? "41c0ffee41c0" : null,
    files: shown,
    added: shown.reduce((sum, { added }) => sum + added, 0),
    removed: shown.reduce((sum, { removed }) => sum + removed, 0),
    outside_review: null,
    there: null,
  };
};
