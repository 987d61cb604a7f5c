/**
 * The sample host's changes, the comments on them and a merge conflict (`?sample=diff`): task #1
 * waits for a person's review, #2 for a hand at its merge. The recorded conflict is of one text: a file that one side
 * deleted, a binary one, and the texts of all three sides are made here.
 */
import type { Comment, Conflict, ConflictFile, Execution, Task } from "#ui/api/generated.ts";
import { pageOf, refuse, type Handlers } from "./answers.ts";
import { sampleTask, sampleWorkspace } from "./sample.ts";
import { sampleFileDiff, sampleFiles, sampleSummary } from "./sampleChanges.ts";
import { manyFileDiff, manySummary } from "./sampleManyFiles.ts";
import { previewOf } from "./samplePictures.ts";
import { sampleComment as recordedComment, sampleConflict, samplePath } from "./sampleReview.ts";
import { sampleExecution } from "./sampleRuns.ts";
import { at } from "./sampleTasks.ts";

export function sampleComment(change: Partial<Comment> = {}): Comment {
  const line = change.line ?? null;
  const last = change.last_line ?? line;
  const outdated = change.outdated ?? false;
  return recordedComment({
    id: "c1",
    path: "src/login.ts",
    line,
    last_line: last,
    now_line: outdated ? null : line,
    now_last_line: outdated ? null : last,
    outdated,
    text: "Why not a constant?",
    created_at: at(12),
    updated_at: at(12),
    ...change,
  });
}

export const sampleComments = (): Comment[] => [
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
export const sampleConflicts: Conflict = sampleConflict({
  target_commit: "b81d33e07a94f6c2150d",
  source_commit: "41c0ffee41c0ffee41c0",
  paths: [
    samplePath({ path: "src/settings.ts", hunks: [place], places: [{ ours: 5, theirs: 5 }] }),
    { path: "src/legacy/config.ts", kind: "modify/delete", base: side, ours: side, theirs: null },
    samplePath({ path: "assets/logo.png", kind: "binary", hunks: [], places: [] }),
  ],
});

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
  const conflict = sampleConflicts.paths.find((each) => each.path === path);
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
      diff_stat: { files: sampleFiles.length, added: 10_734, removed: 10_452 },
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

const execution = (task_id: string): Execution =>
  sampleExecution({
    id: `e-${task_id}`,
    task_id,
    log_id: `e-${task_id}`,
    started_at: at(40),
    finished_at: at(22),
  });

export function diffAnswers() {
  const comments = sampleComments();
  return {
    task_diff: ({ scope }) => sampleSummary(scope),
    task_diff_file: sampleFileDiff,
    task_diff_preview: previewOf,
    task_executions: ({ task_id }) => pageOf([execution(task_id)]),
    execution_logs: () => ({ entries: [], first_seq: 0, last_seq: 0, total: 0 }),
    task_comments: ({ task_id }) => pageOf(comments.filter((each) => each.task_id === task_id)),
    task_conflict: ({ task_id }) => ({
      conflict: task_id === "t2" ? sampleConflicts : null,
      standing: task_id === "t2" ? "open" : null,
    }),
    task_conflict_file: ({ path }) =>
      conflictFile(path) ?? refuse("not_found", `no file in conflict ${path}`),
  } satisfies Handlers;
}

/** Changes of many files, with a comment on one in the middle. */
export function manyAnswers() {
  const comment = sampleComment({
    id: "m1",
    path: "src/billing/customer-1.ts",
    line: 3,
    status: "sent",
  });
  return {
    ...diffAnswers(),
    task_diff: manySummary,
    task_diff_file: manyFileDiff,
    task_comments: () => pageOf([comment]),
  } satisfies Handlers;
}
