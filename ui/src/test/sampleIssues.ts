/** Issues of a code host, imports of them, and tasks that were imported. */
import type {
  Issue,
  IssueImport,
  IssueLink,
  ListedIssue,
  Task,
  TaskIssue,
  UnsentReport,
} from "#ui/api/generated.ts";
import { pageOf, refuse, type Handlers } from "./answers.ts";
import { sampleTask } from "./sample.ts";
import { at } from "./sampleTasks.ts";

const site = "https://github.com/octo/app";

export function sampleIssue(number: number, change: Partial<Issue> = {}): Issue {
  return {
    ref: String(number),
    url: `${site}/issues/${number}`,
    title: "Parse quoted fields in CSV import",
    body: "A quoted field with a line break in it ends the record.",
    state: "open",
    labels: [],
    author: "mona",
    comment_count: 0,
    updated_at: at(number),
    ...change,
  };
}

const listed = (issue: Issue, task: number | null = null): ListedIssue => ({
  issue,
  task_id: task === null ? null : `t${task}`,
  task_number: task,
});

/** As a code host lists them: the newest first, in two pages. */
export const sampleListed: readonly ListedIssue[] = [
  listed(
    sampleIssue(241, {
      title: "Parse quoted fields in CSV import",
      labels: ["bug", "import"],
      comment_count: 3,
    }),
    2,
  ),
  listed(
    sampleIssue(238, {
      title:
        "Retry the upload when the connection drops half-way through a multi-part request, and tell how much of it has arrived",
      labels: ["enhancement", "network", "good first issue"],
      comment_count: 14,
    }),
  ),
  listed(sampleIssue(236, { title: "Dark theme for the e-mail templates" })),
  listed(
    sampleIssue(231, { title: "Flaky test: session expiry at midnight UTC", labels: ["flaky"] }),
  ),
  listed(sampleIssue(229, { title: "Document the webhook signature", comment_count: 1 })),
  listed(sampleIssue(224, { title: "Replace the hand-written date parser", state: "closed" })),
];
const pageSize = 4;

export function sampleImport(change: Partial<IssueImport> = {}): IssueImport {
  return {
    id: "import-1",
    project_id: "p1",
    kind: "github",
    source: "GitHub octo/app",
    state: "backlog",
    status: "running",
    problem: null,
    remedy: null,
    retry_at: null,
    counts: {
      total: 40,
      created: 12,
      updated: 3,
      unchanged: 4,
      differs: 1,
      skipped: 2,
      failed: 0,
    },
    failures: [],
    created_at: at(1),
    finished_at: null,
    ...change,
  };
}

export const interruptedImport = (): IssueImport =>
  sampleImport({
    status: "failed",
    problem: "GitHub refused the token (401).",
    remedy: "Store a token that can read the issues of octo/app in the project's settings.",
    counts: {
      total: 40,
      created: 12,
      updated: 3,
      unchanged: 4,
      differs: 1,
      skipped: 2,
      failed: 2,
    },
    failures: [
      { ref: "77", message: "GitHub has no issue 77 in octo/app." },
      { ref: "101", message: "GitHub has no issue 101 in octo/app." },
    ],
  });

export function sampleIssueLink(change: Partial<IssueLink> = {}): IssueLink {
  return {
    kind: "github",
    name: "GitHub octo/app#241",
    url: `${site}/issues/241`,
    is_public: false,
    state: "open",
    differs: false,
    ...change,
  };
}

export function sampleTaskIssue(change: Partial<TaskIssue> = {}): TaskIssue {
  return {
    issue: sampleIssueLink(),
    labels: ["bug", "import"],
    comments: [
      {
        author: "hubot",
        body: "It also happens with `\\r\\n`. See [the file](https://example.com/bad.csv).",
        url: `${site}/issues/241#issuecomment-1`,
        at: at(3_000),
      },
      { author: "mona", body: "A failing test is in #239.", url: null, at: null },
    ],
    pending: null,
    imported_at: at(45),
    unsent: [],
    ...change,
  };
}

export const samplePending = {
  title: "Parse quoted fields with line breaks in CSV import",
  description:
    "A quoted field with a line break in it ends the record.\n\n- Read RFC 4180, section 2.6.\n- Keep the line break in the value.",
};

/** A host that refuses, and what waits behind the refusal. */
export function sampleUnsent(): UnsentReport[] {
  const problem =
    "GitHub refused the request (403): Resource not accessible by personal access token";
  const remedy = "Store a token that can write the issues of octo/app in the project's settings.";
  const next = new Date(Date.now() + 42 * 60_000).toISOString();
  return [
    { kind: "started", problem, remedy, retry_at: next },
    { kind: "label", problem: null, remedy: null, retry_at: null },
  ];
}

/** The task of the sample whose issue could not be written. */
const unwritten = "Retry the upload when the connection drops";

export function sampleIssueTasks(project: string): Task[] {
  const waiting = {
    reason: "start_required" as const,
    message: "imported from a public repository: read it, then start it yourself",
    until: null,
    files: [],
  };
  const tasks: readonly Partial<Task>[] = [
    { title: "Dark theme for the e-mail templates", status: "backlog", issue: sampleIssueLink() },
    {
      title: "Parse quoted fields in CSV import",
      description: "A quoted field with a line break in it ends the record. Start with the lexer.",
      status: "todo",
      issue: sampleIssueLink({ differs: true, is_public: true }),
    },
    {
      title: "Flaky test: session expiry at midnight UTC",
      status: "todo",
      roles: { coder: { type: "agent", id: "a2" } },
      waiting,
      issue: sampleIssueLink({ name: "GitLab octo/app#9", kind: "gitlab", is_public: true }),
    },
    {
      title: "Document the webhook signature",
      status: "todo",
      issue: sampleIssueLink({
        kind: "markdown",
        name: "plan.md: Document the webhook signature",
        url: null,
      }),
    },
    {
      title: "Upgrade to Rust 1.95",
      status: "done",
      issue: sampleIssueLink({ kind: "csv", name: "backlog.csv 17", url: null, state: "closed" }),
    },
    {
      title: "Replace the hand-written date parser",
      status: "todo",
      issue: sampleIssueLink({ kind: "vibe_kanban", name: "tasks.json 4f1c", url: null }),
    },
    { title: "A task of its own", status: "todo" },
    {
      title: unwritten,
      status: "in_progress",
      issue: sampleIssueLink({ name: "GitHub octo/app#238", url: `${site}/issues/238` }),
    },
  ];
  return tasks.map((change, index) =>
    sampleTask({
      id: `t${index + 1}`,
      number: index + 1,
      project_id: project,
      position: index,
      created_at: at(900),
      updated_at: at(3),
      status_since: at(12),
      ...change,
    }),
  );
}

export function issueAnswers(sample: string | null, tasks: readonly Task[]): Handlers {
  const imports =
    sample === "issues"
      ? [interruptedImport()]
      : sample === null
        ? [sampleImport({ id: "import-0", status: "done", finished_at: at(90) })]
        : [];
  return {
    issue_list: ({ q, labels, state, page }) => {
      if (sample === "no-host") {
        refuse(
          "no_code_host",
          "no remote is on a known code host: add a code host in the project's settings",
        );
      }
      const wanted = labels?.split(",") ?? [];
      const found = sampleListed
        .filter(({ issue }) => state === "all" || issue.state === (state ?? "open"))
        .filter(({ issue }) => issue.title.toLowerCase().includes(q?.toLowerCase() ?? ""))
        .filter(({ issue }) => wanted.every((label) => issue.labels.includes(label)));
      const from = ((page ?? 1) - 1) * pageSize;
      const isLast = from + pageSize >= found.length;
      return {
        kind: "github",
        source: "GitHub octo/app",
        items: found.slice(from, from + pageSize),
        next_page: isLast ? null : (page ?? 1) + 1,
      };
    },
    issue_imports: () => pageOf(imports),
    issue_import_get: ({ import_id }) =>
      imports.find(({ id }) => id === import_id) ?? sampleImport({ id: import_id }),
    task_issue: ({ task_id }) => {
      const task = tasks.find(({ id }) => id === task_id);
      const issue = task?.issue;
      if (!issue) return { issue: null };
      const pending = issue.differs ? samplePending : null;
      const unsent = task.title === unwritten ? sampleUnsent() : [];
      return { issue: sampleTaskIssue({ issue, pending, unsent }) };
    },
  };
}
