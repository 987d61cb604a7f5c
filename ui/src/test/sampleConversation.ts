/**
 * What agents said, did and asked in the sample `agents`: a conversation with an entry of each kind. The first run's is
 * recorded; the recorded agent asks nothing and starts no agent of its own, so the conversation with questions is
 * made here.
 */
import type { Approval, Execution, LogEntry, SandboxReport } from "#ui/api/generated.ts";
import { cast, first, recorded } from "./recorded.ts";
import { sampleUsage } from "./sample.ts";
import { sampleApproval, sampleExecution, sampleUsageOf } from "./sampleRuns.ts";
import { at } from "./sampleTasks.ts";

export const sampleAsked = (): Approval[] => [
  sampleApproval({
    id: "q0",
    ask: "ask-1",
    execution_id: "e2",
    agent_id: "a2",
    title: "cargo add serde_yaml",
    status: "answered",
    answer: "decline",
    note: "Use toml, we have it already",
    answered_by: "user:board",
    asked_at: at(9),
    answered_at: at(8),
  }),
  sampleApproval({
    execution_id: "e2",
    agent_id: "a2",
    ask: "ask-2",
    title: "npm install --save-dev fast-check",
    detail: {
      command: "npm install --save-dev fast-check",
      cwd: "/home/me/.local/share/forge/workspaces/website/1",
      reason: "The new tests generate their inputs; installing needs the network.",
    },
    asked_at: at(2),
  }),
  sampleApproval({
    id: "q2",
    task_id: "t2",
    execution_id: "e3",
    agent_id: "a4",
    kind: "file_change",
    title: "Change ../shared/routes.ts",
    detail: {
      reason: "The routes are declared outside of the worktree.",
      paths: ["../shared/routes.ts"],
      diff: '@@ -3,4 +3,5 @@\n export const routes = {\n   home: "/",\n-  settings: "/prefs",\n+  settings: "/settings",\n+  legacySettings: "/prefs",\n };\n',
    },
    asked_at: at(1),
  }),
];

const execution = (change: Partial<Execution>): Execution =>
  sampleExecution({
    agent_id: "a2",
    session_id: "0198c7d2-5a51-7c60-9b1c-2f7d0c1a4e11",
    usage: {
      ...sampleUsage,
      input_uncached: 18_400,
      cache_read: 240_000,
      cache_write: 9_100,
      output: 6_200,
    },
    cost_micro_usd: 312_000,
    cost_source: "reported",
    models: [
      sampleUsageOf({
        model: "claude-opus-4-1",
        input_uncached: 18_400,
        output: 6_200,
        cost_micro_usd: 312_000,
      }),
    ],
    started_at: at(31),
    finished_at: at(15),
    ...change,
  });

const confined: SandboxReport = {
  mode: "files",
  state: "enforced",
  refused: 0,
  paths: [],
  kept_refs: [],
};

export const sampleExecutions: readonly Execution[] = [
  execution({ sandbox: confined }),
  execution({
    id: "e2",
    log_id: "e2",
    attempt: 2,
    status: "waiting",
    session_mode: "resume",
    from_session: "0198c7d2-5a51-7c60-9b1c-2f7d0c1a4e11",
    cause: "your message",
    messages: [{ text: "Make the last test pass.", comments: 2, files: ["failing-run.log"] }],
    cost_micro_usd: 100_000,
    cost_source: "computed",
    price_version: "2026-11-02",
    sandbox: {
      ...confined,
      refused: 3,
      paths: ["/home/me/.npmrc", "/home/me/.ssh/id_ed25519", "/home/me/src/website/.git/config"],
    },
    started_at: at(12),
    finished_at: null,
  }),
  execution({
    id: "e3",
    log_id: "e3",
    task_id: "t2",
    agent_id: "a4",
    status: "waiting",
    started_at: at(4),
    finished_at: null,
    cost_micro_usd: null,
    cost_source: "unknown",
    models: [],
  }),
  execution({
    id: "e4",
    log_id: "e4",
    task_id: "t3",
    agent_id: "a1",
    status: "running",
    started_at: at(2),
    finished_at: null,
    cost_micro_usd: null,
    cost_source: "unknown",
    models: [],
    session_id: null,
  }),
];

const done = first(recorded("task_executions", { task_id: cast.tasks.done }));
const spoken = recorded("execution_logs", { execution_id: done.id }).entries;
const said = first({ items: spoken });

function logOf(run: string, kinds: readonly Partial<LogEntry>[], from: number): LogEntry[] {
  return kinds.map((entry, index) => ({
    ...said,
    seq: index + 1,
    at: Date.now() - from * 60_000 + index * 20_000,
    execution_id: run,
    id: `i${index + 1}`,
    kind: "assistant_text",
    body: {},
    ...entry,
  }));
}

/** The recorded conversation, as one that this run had so many minutes ago. */
const recordedLog = (run: string, from: number): LogEntry[] =>
  spoken.map((entry) => ({
    ...entry,
    execution_id: run,
    at: Date.now() - from * 60_000 + (entry.at ?? 0) - (said.at ?? 0),
  }));

export const sampleLogs: Readonly<Record<string, readonly LogEntry[]>> = {
  e1: recordedLog("e1", 31),
  e2: logOf(
    "e2",
    [
      { kind: "session_started", body: {} },
      { kind: "user_message", body: { text: "Make the last test pass." } },
      {
        id: "ask-1",
        kind: "approval_request",
        status: "running",
        at: Date.parse(at(9)),
        body: { text: "cargo add serde_yaml", kind: "command" },
      },
      {
        id: "ask-1:answer",
        parent_id: "ask-1",
        kind: "approval_resolved",
        status: "declined",
        at: Date.parse(at(8)),
        body: { answer: "decline" },
      },
      { body: { text: "Then I stay with `toml`." } },
      {
        id: "sub",
        kind: "tool_call",
        status: "completed",
        body: {
          name: "Agent",
          input: { description: "Find every caller of Config::load" },
          output: "Three callers: server.rs, cli.rs, watch.rs",
        },
      },
      {
        id: "s1",
        parent_id: "sub",
        kind: "command",
        status: "completed",
        body: {
          command: "rg -n 'Config::load' src",
          exit_code: 0,
          output: "src/server.rs:41\nsrc/cli.rs:12\nsrc/watch.rs:77",
        },
      },
      {
        id: "s2",
        parent_id: "sub",
        kind: "tool_call",
        status: "completed",
        body: { name: "Read", input: { file_path: "src/server.rs" }, output: "…" },
      },
      { id: "s3", parent_id: "sub", body: { text: "All three pass the same path." } },
      { kind: "notice", body: { text: "The message was said to the agent while it worked." } },
      {
        kind: "command",
        status: "completed",
        body: { command: "cargo test config", exit_code: 0, output: "test result: ok. 14 passed" },
      },
      {
        kind: "usage",
        id: "",
        body: sampleUsageOf({
          model: "claude-opus-4-1",
          input_uncached: 3_100,
          cache_read: 60_000,
          output: 900,
          cost_micro_usd: 61_000,
        }),
      },
      {
        turn: 2,
        kind: "user_message",
        body: { text: "And generate the inputs of the new tests." },
      },
      { turn: 2, body: { text: "For that I would like **fast-check**." } },
      {
        turn: 2,
        id: "ask-2",
        kind: "approval_request",
        status: "running",
        at: Date.parse(at(2)),
        body: { text: "npm install --save-dev fast-check", kind: "command" },
      },
    ],
    12,
  ),
  e3: logOf(
    "e3",
    [
      { body: { text: "The routes are declared outside of the worktree." } },
      {
        id: "ask-1",
        kind: "approval_request",
        status: "running",
        body: { text: "Change ../shared/routes.ts" },
      },
    ],
    4,
  ),
  e4: logOf("e4", [{ kind: "stdout", id: "", body: { text: "Looking for callers…" } }], 2),
};

/** The recorded prompt of a task at work. */
export const sampleLayers = () => recorded("task_prompt_preview", { task_id: cast.tasks.working });
