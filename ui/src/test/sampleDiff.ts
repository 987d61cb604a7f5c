/**
 * The sample host's changes, the comments on them and a merge conflict (`?sample=diff`): task #1
 * waits for a person's review, #2 for a hand at its merge. Comments are kept as the engine keeps
 * them: drafts are rewritten and removed, sent ones resolved.
 */
import type {
  Comment,
  Conflict,
  ConflictFile,
  CreateComment,
  DiffLine,
  DiffSummary,
  Execution,
  FileChange,
  FileDiff,
  FollowUp,
  Hunk,
  ReadFileDiff,
  Scope,
  Task,
  UpdateComment,
} from "#ui/api/generated.ts";
import { sampleTask, sampleUsage, sampleWorkspace } from "./sample.ts";
import { previewOf } from "./samplePictures.ts";
import type { Refuse } from "./sampleProcess.ts";
import { at } from "./sampleTasks.ts";

function file(path: string, change: Partial<FileChange> = {}): FileChange {
  return {
    path,
    old_path: null,
    kind: "modified",
    old_mode: "100644",
    new_mode: "100644",
    added: 0,
    removed: 0,
    binary: false,
    generated: false,
    untracked: false,
    old_size: 4_120,
    new_size: 4_655,
    old_blob: null,
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

const files: FileChange[] = [
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

function fileDiff({ path, start, limit: most }: ReadFileDiff): FileDiff {
  const change = files.find((each) => each.path === path) ?? file(path);
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

const summary = (scope: Scope | null | undefined): DiffSummary => {
  const shown = scope === "since_review" ? files.slice(7, 9) : scope === "uncommitted" ? [] : files;
  return {
    base: "9f4c1d27ab5e",
    head: scope === "turn" ? "41c0ffee41c0" : null,
    files: shown,
    added: shown.reduce((sum, { added }) => sum + added, 0),
    removed: shown.reduce((sum, { removed }) => sum + removed, 0),
    outside_review: null,
  };
};

export function sampleComment(change: Partial<Comment> = {}): Comment {
  const line = change.line ?? null;
  const last = change.last_line ?? line;
  const outdated = change.outdated ?? false;
  return {
    id: "c1",
    task_id: "t1",
    review_id: null,
    source: "person",
    author: "",
    status: "draft",
    severity: null,
    path: "src/login.ts",
    side: "new",
    line,
    last_line: last,
    now_line: outdated ? null : line,
    now_last_line: outdated ? null : last,
    outdated,
    excerpt: [],
    text: "Why not a constant?",
    url: null,
    created_at: at(12),
    updated_at: at(12),
    ...change,
  };
}

const someComments = (): Comment[] => [
  sampleComment({
    id: "c1",
    source: "auditor",
    author: "Claude",
    status: "sent",
    severity: "error",
    line: 21,
    text: "`given.address` comes from a header that **the caller sets**. Take the socket's address.",
  }),
  sampleComment({
    id: "c2",
    source: "auditor",
    author: "Claude",
    status: "sent",
    severity: "warning",
    path: "src/rate/limit.ts",
    line: 3,
    text: "The map grows without end: drop buckets that are full again.",
  }),
  sampleComment({
    id: "c3",
    line: 22,
    last_line: 24,
    text: "One line would do.",
  }),
  sampleComment({
    id: "c4",
    status: "sent",
    line: 30,
    outdated: true,
    excerpt: ["  if (user.failures > 5) {", "    lock(user);", "  }"],
    text: "This locks people out for good.",
    created_at: at(400),
  }),
  sampleComment({
    id: "c5",
    side: "old",
    status: "resolved",
    line: 45,
    text: "Please warn instead.",
    created_at: at(300),
  }),
  sampleComment({
    id: "c6",
    source: "host",
    author: "mira",
    status: "sent",
    path: "src/settings.ts",
    line: 4,
    text: "Should this be read from the file?",
    url: "https://forge.example/pr/1#c6",
  }),
  sampleComment({
    id: "c7",
    status: "sent",
    path: "src/gone.ts",
    line: 9,
    outdated: true,
    excerpt: ["export const old = true;"],
    text: "Can this go?",
  }),
];

const place = `export function read(path: string) {
<<<<<<< main
  return parse(readFileSync(path, "utf8"), { comments: true });
||||||| 9f4c1d27
  return parse(readFileSync(path, "utf8"));
=======
  const text = readFileSync(path, "utf8");
  return { ...defaults, ...parse(text) };
>>>>>>> forge/2-rename-the-settings-module
}`;
const side = { oid: "0a1b2c3d", mode: "100644" };
export const sampleConflict: Conflict = {
  target: "main",
  target_commit: "b81d33e07a94f6c2150d",
  source_commit: "41c0ffee41c0ffee41c0",
  paths: [
    {
      path: "src/settings.ts",
      kind: "content",
      base: side,
      ours: side,
      theirs: side,
      hunks: [place],
      places: [{ ours: 5, theirs: 5 }],
    },
    { path: "src/legacy/config.ts", kind: "modify/delete", base: side, ours: side, theirs: null },
    { path: "assets/logo.png", kind: "binary", base: side, ours: side, theirs: side, hunks: [] },
  ],
};

const text = (content: string, change = {}) => ({
  text: content,
  binary: false,
  too_large: false,
  size: content.length,
  ...change,
});
const whole = (body: string) =>
  `import { readFileSync } from "node:fs";\nimport { parse } from "./parse.ts";\n\nexport function read(path: string) {\n${body}\n}\n\n${Array.from({ length: 60 }, (_, line) => `export const option${line} = ${line};`).join("\n")}\n`;

function conflictFile(path: string): ConflictFile | null {
  const conflict = sampleConflict.paths.find((each) => each.path === path);
  if (!conflict) return null;
  if (conflict.kind === "binary") {
    const binary = { binary: true, size: 18_220 };
    return { conflict, base: text("", binary), ours: text("", binary), theirs: text("", binary) };
  }
  if (conflict.kind === "modify/delete") {
    const large = { too_large: true, size: 4_800_000 };
    return { conflict, base: text("export {};\n"), ours: text("", large), theirs: null };
  }
  return {
    conflict,
    base: text(whole('  return parse(readFileSync(path, "utf8"));')),
    ours: text(whole('  return parse(readFileSync(path, "utf8"), { comments: true });')),
    theirs: text(
      whole(
        '  const text = readFileSync(path, "utf8");\n  return { ...defaults, ...parse(text) };',
      ),
    ),
  };
}

export function sampleDiffTasks(project: string): Task[] {
  return [
    sampleTask({
      id: "t1",
      project_id: project,
      title: "Rate-limit the login endpoint",
      status: "review",
      roles: { coder: { type: "agent", id: "a1" } },
      workspace: sampleWorkspace(),
      review: { attempt_number: 1, status: "awaiting_human", verdict: null, reviewed_commit: null },
      diff_stat: { files: files.length, added: 10_734, removed: 10_452 },
      status_since: at(20),
    }),
    sampleTask({
      id: "t2",
      number: 2,
      project_id: project,
      title: "Rename the settings module",
      status: "merge_failed",
      workspace: sampleWorkspace({ id: "w2", task_id: "t2" }),
      error_annotation: {
        type: "merge_conflict",
        from_state: "merging",
        message: "Merging into main conflicts in src/settings.ts",
        details: null,
        execution_id: null,
        evidence: null,
        at: at(95),
      },
      offers: [{ verb: "retry", label: "Try again", fields: [], why: "The agent resolves it." }],
      position: 2,
    }),
  ];
}

const execution = (task_id: string): Execution => ({
  id: `e-${task_id}`,
  task_id,
  subtask_id: null,
  role: "coder",
  agent_id: "a1",
  attempt: 1,
  status: "finished",
  parent_execution_id: null,
  session_id: null,
  cause: "claimed by you",
  messages: [],
  activity: "",
  before_commit: null,
  after_commit: null,
  usage: sampleUsage,
  cost_micro_usd: null,
  cost_source: "unknown",
  price_version: null,
  models: [],
  session_mode: "new",
  from_session: null,
  conflict: null,
  withheld: [],
  error: null,
  summary: null,
  log_id: `e-${task_id}`,
  started_at: at(40),
  finished_at: at(22),
});

interface Hooks {
  readonly refuse: Refuse;
  readonly change: (id: string, change: Partial<Task>) => Task;
  readonly changed: (...tags: string[]) => void;
}

export function createSampleDiff({ refuse, change, changed }: Hooks) {
  let comments = someComments();
  let made = comments.length;
  const page = <Item>(items: readonly Item[]) => ({ items: [...items], next_cursor: null });
  const tell = (id: string) => changed(`task:${id}`);
  const known = (id: string): Comment =>
    comments.find((each) => each.id === id) ?? refuse("not_found", `no comment ${id}`);
  const put = (id: string, next: Partial<Comment>): Comment => {
    const after = { ...known(id), ...next, updated_at: at(0) };
    comments = comments.map((each) => (each.id === id ? after : each));
    tell(after.task_id);
    return after;
  };
  const send = (id: string) => {
    comments = comments.map((each) =>
      each.task_id === id && each.status === "draft" ? { ...each, status: "sent" } : each,
    );
    tell(id);
  };
  return {
    task_diff: ({ scope }: { scope?: Scope }) => summary(scope),
    task_diff_file: fileDiff,
    task_diff_preview: previewOf,
    task_executions: ({ task_id }: { task_id: string }) => page([execution(task_id)]),
    execution_logs: () => ({ entries: [], first_seq: 0, last_seq: 0, total: 0 }),
    execution_follow_up: ({ execution_id, with_comments }: FollowUp) => {
      const id = execution_id.replace(/^e-/, "");
      if (with_comments) send(id);
      return change(id, { status: "in_progress", review: null });
    },
    review_reject: ({ task_id }: { task_id: string }) => {
      send(task_id);
      const review = {
        attempt_number: 1,
        status: "failed",
        verdict: "fail",
        reviewed_commit: null,
      } as const;
      return { task: change(task_id, { status: "in_progress", review }), review: null };
    },
    task_comments: ({ task_id }: { task_id: string }) =>
      page(comments.filter((each) => each.task_id === task_id)),
    comment_create: ({ task_id, path, side: on, line, last_line, text: said }: CreateComment) => {
      made += 1;
      const comment = sampleComment({
        id: `c${made}`,
        task_id,
        path,
        side: on ?? "new",
        line: line ?? null,
        last_line: last_line ?? line ?? null,
        text: said,
        created_at: at(0),
        updated_at: at(0),
      });
      comments = [...comments, comment];
      tell(task_id);
      return comment;
    },
    comment_update: ({ comment_id, text: said, resolved }: UpdateComment) =>
      put(comment_id, {
        ...(said ? { text: said } : {}),
        ...(resolved === true ? { status: "resolved" } : {}),
        ...(resolved === false ? { status: "sent" } : {}),
      }),
    comment_delete: ({ comment_id }: { comment_id: string }) => {
      const { task_id } = known(comment_id);
      comments = comments.filter((each) => each.id !== comment_id);
      tell(task_id);
      return { done: true };
    },
    task_conflict: ({ task_id }: { task_id: string }) => ({
      conflict: task_id === "t2" ? sampleConflict : null,
      standing: task_id === "t2" ? "open" : null,
    }),
    task_conflict_file: ({ path }: { path: string }) =>
      conflictFile(path) ?? refuse("not_found", `no file in conflict ${path}`),
  };
}
