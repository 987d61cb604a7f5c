/**
 * Answers about agents at work: programs of this machine, what runs, what is asked, and in the sample
 * `agents` one conversation with an entry of each kind.
 */
import type {
  AnswerApproval,
  Approval,
  CreateAgent,
  Execution,
  FollowUp,
  ListApprovals,
  LogEntry,
  ProbeAgent,
  Task,
  Transition,
} from "#ui/api/generated.ts";
import { sampleTask, sampleUsage } from "./sample.ts";
import {
  sampleApproval,
  sampleKnown,
  sampleRun,
  sampleRunProcess,
  sampleUsageOf,
} from "./sampleRuns.ts";
import { at } from "./sampleTasks.ts";

const page = <Item>(items: readonly Item[]) => ({ items: [...items], next_cursor: null });

const live = (execution_id: string, agent_id: string, activity: string, minutes: number) => ({
  execution_id,
  agent_id,
  role: "coder",
  activity,
  started_at: at(minutes),
});

export function sampleAgentTasks(project: string): Task[] {
  const work = { project_id: project, status: "in_progress" };
  const held = (id: string) => ({ coder: { type: "agent" as const, id } });
  return [
    sampleTask({
      ...work,
      id: "t1",
      number: 1,
      title: "Cache the parsed configuration",
      roles: held("a2"),
      live: live("e2", "a2", "Waiting for an answer", 12),
      usage: { ...sampleUsage, cost_micro_usd: 412_000 },
      status_since: at(31),
    }),
    sampleTask({
      ...work,
      id: "t2",
      number: 2,
      title: "Move the settings page to the new router",
      roles: held("a4"),
      live: live("e3", "a4", "Waiting for an answer", 4),
      status_since: at(4),
    }),
    sampleTask({
      ...work,
      id: "t3",
      number: 3,
      title: "Drop the last callers of the old client",
      roles: held("a1"),
      live: live("e4", "a1", "cargo test --workspace", 2),
      status_since: at(2),
    }),
    sampleTask({ project_id: project, id: "t4", number: 4, title: "Write the release notes" }),
  ];
}

const asked = (): Approval[] => [
  sampleApproval({
    id: "q0",
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

const execution = (change: Partial<Execution>): Execution => ({
  id: "e1",
  task_id: "t1",
  subtask_id: null,
  role: "coder",
  agent_id: "a2",
  attempt: 1,
  status: "finished",
  parent_execution_id: null,
  session_id: "0198c7d2-5a51-7c60-9b1c-2f7d0c1a4e11",
  session_mode: "new",
  from_session: null,
  cause: "claimed by you",
  activity: "",
  before_commit: null,
  after_commit: null,
  usage: {
    ...sampleUsage,
    input_uncached: 18_400,
    cache_read: 240_000,
    cache_write: 9_100,
    output: 6_200,
  },
  cost_micro_usd: 312_000,
  cost_source: "reported",
  price_version: null,
  models: [
    sampleUsageOf({
      model: "claude-opus-4-1",
      input_uncached: 18_400,
      output: 6_200,
      cost_micro_usd: 312_000,
    }),
  ],
  conflict: null,
  error: null,
  summary: null,
  log_id: "e1",
  started_at: at(31),
  finished_at: at(15),
  ...change,
});

const executions: readonly Execution[] = [
  execution({}),
  execution({
    id: "e2",
    log_id: "e2",
    attempt: 2,
    status: "waiting",
    session_mode: "resume",
    from_session: "0198c7d2-5a51-7c60-9b1c-2f7d0c1a4e11",
    cause: "your message",
    cost_micro_usd: 100_000,
    cost_source: "computed",
    price_version: "2026-11-02",
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

function logOf(run: string, kinds: readonly Partial<LogEntry>[], from: number): LogEntry[] {
  return kinds.map((entry, index) => ({
    seq: index + 1,
    at: Date.now() - from * 60_000 + index * 20_000,
    execution_id: run,
    turn: 1,
    id: `i${index + 1}`,
    parent_id: null,
    kind: "assistant_text",
    status: null,
    body: {},
    raw_offset: 0,
    ...entry,
  }));
}

const diff =
  "@@ -12,6 +12,9 @@ impl Config {\n     pub fn load(path: &Path) -> Result<Self> {\n-        let text = fs::read_to_string(path)?;\n-        toml::from_str(&text)\n+        if let Some(known) = CACHE.get(path) {\n+            return Ok(known);\n+        }\n+        Self::read(path)\n     }\n";

const logs: Readonly<Record<string, readonly LogEntry[]>> = {
  e1: logOf(
    "e1",
    [
      { kind: "session_started", body: { session_id: "0198c7d2", model: "claude-opus-4-1" } },
      {
        kind: "user_message",
        body: { text: "Cache the parsed configuration.\n\nIt is read on every request." },
      },
      {
        kind: "reasoning",
        body: {
          text: "The configuration is read in `load`. A cache keyed by path and time of change would do.",
        },
      },
      { body: { text: "I will look at **who reads the configuration** first." } },
      {
        kind: "plan",
        body: {
          steps: [
            { text: "Find the readers", done: true },
            { text: "Add the cache", done: true },
            { text: "Test that a change is seen", done: false },
          ],
        },
      },
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
      {
        kind: "file_change",
        status: "completed",
        body: { path: "src/config.rs", change: "modified", diff },
      },
      {
        kind: "command",
        status: "failed",
        body: {
          command: "cargo test config",
          exit_code: 101,
          output: "test config::sees_a_change ... FAILED",
        },
      },
      {
        kind: "usage",
        id: "",
        body: sampleUsageOf({
          model: "claude-opus-4-1",
          input_uncached: 12_000,
          cache_read: 140_000,
          cache_write: 9_100,
          output: 4_100,
          reasoning: 1_300,
          cost_micro_usd: 201_000,
        }),
      },
      {
        kind: "usage",
        id: "",
        body: sampleUsageOf({
          model: "claude-haiku-4-5",
          input_uncached: 6_400,
          cache_read: 100_000,
          output: 2_100,
          cost_micro_usd: 111_000,
        }),
      },
      {
        kind: "turn_ended",
        body: { summary: "The configuration is parsed once and kept. One test still fails." },
      },
    ],
    31,
  ),
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

function layers() {
  const all = [
    {
      kind: "profile",
      text: "Answer in English. Prefer small commits of thought over long ones.\n",
    },
    {
      kind: "rules",
      text: "You work in a worktree of your own. Do not merge, push, or leave it. Forge commits what you leave.\n",
    },
    { kind: "task", text: "# Cache the parsed configuration\n\nIt is read on every request.\n" },
    { kind: "place", text: "Branch forge/1, from main.\n" },
    { kind: "acceptance", text: "These checks must pass:\n\n- `npm test`\n- `npm run lint`\n" },
    {
      kind: "knowledge",
      text: "- Tests of the store need a temporary folder (docs/lessons/store.md)\n",
    },
    { kind: "now", text: "Begin.\n" },
  ] as const;
  return { text: all.map(({ text }) => text).join("\n"), layers: [...all] };
}

export interface SampleAgents {
  readonly sample: string | null;
  refuse(code: string, message: string, details?: unknown, hints?: string[]): never;
  changed(...tags: string[]): void;
  change(id: string, change: Partial<Task>): Task;
  task(id: string): Task;
  profilesOf(adapter: string): string[];
}

export function createSampleAgents({
  sample,
  refuse,
  changed,
  change,
  task,
  profilesOf,
}: SampleAgents) {
  const busy = sample === "agents";
  let approvals = busy ? asked() : [];
  const queued: Transition["steps"] = [];
  let looks = 0;
  const known = () =>
    [
      sampleKnown({ profiles: profilesOf("codex") }),
      sampleKnown({
        name: "Claude Code",
        adapter: "claude",
        check: {
          found: true,
          program: "/home/me/.local/bin/claude",
          version: "2.0.41",
          signed_in: null,
          problem: null,
          remedy: null,
        },
        profiles: profilesOf("claude"),
      }),
      sampleKnown({
        name: "OpenCode",
        adapter: "acp",
        config: { program: "opencode", args: ["acp"] },
        check: {
          found: true,
          program: "/usr/bin/opencode",
          version: "1.0.80",
          signed_in: false,
          problem: null,
          remedy: "Sign in with `opencode auth login`.",
        },
        profiles: profilesOf("acp"),
      }),
      sampleKnown({
        name: "Gemini CLI",
        adapter: "acp",
        config: { program: "gemini", args: ["--experimental-acp"] },
        check: {
          found: false,
          program: null,
          version: null,
          signed_in: null,
          problem: "gemini is not on the PATH of your login shell",
          remedy: "Install it with `npm install -g @google/gemini-cli`, then look again.",
        },
      }),
    ] as const;
  return {
    agent_known: () => page(sample === "empty" ? known().slice(3) : known()),
    agent_probe: ({ adapter, config }: ProbeAgent) => {
      const { program } = (config ?? {}) as { program?: string };
      if (program === "nowhere") {
        return {
          found: false,
          program: null,
          version: null,
          signed_in: null,
          problem: "nowhere is not on the PATH of your login shell",
          remedy: "Install it, or give its whole path.",
        };
      }
      return {
        found: true,
        program: program ?? `/usr/local/bin/${adapter}`,
        version: "0.63.0",
        signed_in: true,
        problem: null,
        remedy: null,
      };
    },
    agent_models: ({ adapter }: ProbeAgent) =>
      adapter === "acp"
        ? {
            models: [],
            problem: "the program does not tell its models before it is signed in",
            remedy: "Sign in, then ask again.",
          }
        : {
            models: [
              {
                id: "gpt-5.1-codex",
                name: "GPT-5.1 Codex",
                efforts: ["low", "medium", "high"],
                is_default: true,
              },
              {
                id: "gpt-5.1-codex-mini",
                name: "GPT-5.1 Codex mini",
                efforts: ["medium"],
                is_default: false,
              },
            ],
            problem: null,
            remedy: null,
          },
    agent_try: ({ agent_id }: { agent_id: string }) =>
      agent_id === "a3"
        ? {
            ok: false,
            text: "",
            problem: "night-shift is not on the PATH",
            remedy: "Install it, or give its whole path in the profile.",
            duration_ms: null,
            cost_micro_usd: null,
          }
        : {
            ok: true,
            text: "Ready.",
            problem: null,
            remedy: null,
            duration_ms: 2_340,
            cost_micro_usd: 1_900,
          },
    run_list: () => {
      if (sample !== null && !busy) return page([]);
      looks += 1;
      const worked = looks * 1_700;
      return page([
        sampleRun({
          id: "execution-e2",
          task_title: busy ? "Cache the parsed configuration" : "Read the configuration once",
          execution_id: "e2",
          agent_id: "a2",
          processes: [
            sampleRunProcess({
              command: "claude -p --input-format stream-json --output-format stream-json",
              cpu_ms: 9_400 + looks * 60,
            }),
            sampleRunProcess({
              pid: 4712,
              parent: 4711,
              command: "bash -lc 'cargo test --workspace'",
              cpu_ms: 40,
              rss_bytes: 4_100_000,
            }),
            sampleRunProcess({
              pid: 4713,
              parent: 4712,
              command: "cargo test --workspace",
              cpu_ms: 61_000 + worked,
              rss_bytes: 812_000_000,
            }),
          ],
        }),
        sampleRun({
          id: "check-7",
          kind: "script",
          task_id: "t7",
          task_number: 7,
          task_title: "Approve me",
          execution_id: null,
          agent_id: null,
          activity: "npm run e2e",
          started_at: at(3),
          processes: [
            sampleRunProcess({
              pid: 5_020,
              command: "bash -lc 'npm run e2e'",
              cpu_ms: 30 + looks * 400,
              rss_bytes: 96_000_000,
            }),
          ],
        }),
      ]);
    },
    approval_list: ({ task_id, all }: ListApprovals) =>
      page(
        approvals.filter(
          (each) => (!task_id || each.task_id === task_id) && (all || each.status === "pending"),
        ),
      ),
    approval_answer: ({ approval_id, option, note }: AnswerApproval) => {
      const before = approvals.find(({ id }) => id === approval_id);
      if (!before) return refuse("not_found", "failed to answer: there is no such question");
      if (before.status !== "pending") {
        return refuse("not_awaiting", "failed to answer: the question is answered already");
      }
      const after: Approval = {
        ...before,
        status: "answered",
        answer: option,
        note: note ?? null,
        answered_by: "user:board",
        answered_at: new Date().toISOString(),
      };
      approvals = approvals.map((each) => (each.id === approval_id ? after : each));
      changed("approvals", "executions", `task:${before.task_id}`);
      return after;
    },
    ...(busy
      ? {
          task_executions: ({ task_id }: { task_id: string }) =>
            page(executions.filter((each) => each.task_id === task_id)),
          execution_logs: ({ execution_id, after }: { execution_id: string; after?: number }) => {
            const all = logs[execution_id] ?? [];
            const entries = all.filter(({ seq }) => (seq ?? 0) > (after ?? 0));
            return {
              entries,
              first_seq: entries[0]?.seq ?? 0,
              last_seq: entries.at(-1)?.seq ?? 0,
              total: all.length,
            };
          },
          execution_follow_up: ({ execution_id, at_once }: FollowUp) => {
            const id = executions.find((each) => each.id === execution_id)?.task_id ?? "t1";
            if (!at_once) {
              queued.push({
                phase: "work_end",
                action: "follow_up",
                status: "pending",
                outcome: null,
                reason: null,
                duration_ms: null,
                log_id: null,
              });
            }
            changed(`task:${id}`);
            return task(id);
          },
          task_transitions: () =>
            page([
              {
                id: "x1",
                from: "todo",
                to: "in_progress",
                trigger: "claim",
                actor: "user:board",
                reason: null,
                rejection: false,
                steps: [...queued],
                at: at(31),
              },
            ]),
          execution_stop: ({ execution_id }: { execution_id: string }) => {
            const id = executions.find((each) => each.id === execution_id)?.task_id ?? "t1";
            return change(id, { live: null });
          },
          task_prompt_preview: layers,
        }
      : {}),
  };
}

/** What the engine would say about a profile that names no program. */
export function sampleConfigFinding({ adapter, config }: CreateAgent) {
  const { program, command } = (config ?? {}) as { program?: string; command?: string };
  const [field, value] = adapter === "shell" ? ["command", command] : ["program", program];
  const missing = adapter === "shell" || adapter === "acp" ? !value?.trim() : value === "";
  return missing ? { path: `config.${field}`, message: "must name a program" } : null;
}
