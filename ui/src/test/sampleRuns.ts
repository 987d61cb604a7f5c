/**
 * Agents at work, for tests and the sample host: questions, runs, programs on the machine. The recorded agent asks
 * nothing, and the machine of the recording has no agent programs: questions and programs are made here.
 */
import type {
  Approval,
  ApprovalOption,
  Execution,
  KnownAgent,
  RunInfo,
  RunProcess,
  UsageSample,
} from "#ui/api/generated.ts";
import { sampleUsage } from "./sample.ts";
import { cast, first, recorded } from "./recorded.ts";

const option = (id: string, label: string, choice: ApprovalOption["choice"]): ApprovalOption => ({
  id,
  label,
  choice,
});

export const sampleOptions: readonly ApprovalOption[] = [
  option("accept", "Allow", "allow_once"),
  option("acceptForSession", "Allow for this session", "allow_always"),
  option("decline", "Decline", "reject_once"),
  option("cancel", "Decline and stop", "stop"),
];

export function sampleApproval(change: Partial<Approval> = {}): Approval {
  return {
    id: "q1",
    project_id: "p1",
    task_id: "t1",
    raced: null,
    execution_id: "e1",
    agent_id: "a1",
    ask: "ask-1",
    kind: "command",
    title: "npm install left-pad",
    detail: {
      command: "npm install left-pad",
      cwd: "/home/me/worktrees/t1",
      reason: "It needs the network.",
    },
    options: [...sampleOptions],
    status: "pending",
    answer: null,
    note: null,
    answered_by: null,
    asked_at: new Date(Date.now() - 60_000).toISOString(),
    answered_at: null,
    ...change,
  };
}

const run = first(recorded("task_executions", { task_id: cast.tasks.done }));

/** A run that ended well, of unknown cost. */
export function sampleExecution(change: Partial<Execution> = {}): Execution {
  return {
    ...run,
    id: "e1",
    task_id: "t1",
    agent_id: "a1",
    machine_id: null,
    cause: "claimed by you",
    activity: "",
    before_commit: null,
    after_commit: null,
    usage: sampleUsage,
    cost_micro_usd: null,
    cost_source: "unknown",
    models: [],
    sandbox: null,
    summary: null,
    log_id: "e1",
    ...change,
  };
}

export const sampleUsageOf = (change: Partial<UsageSample> = {}): UsageSample => ({
  model: "",
  input_uncached: 0,
  cache_read: 0,
  cache_write: 0,
  output: 0,
  reasoning: 0,
  cost_micro_usd: null,
  ...change,
});

export function sampleKnown(change: Partial<KnownAgent> = {}): KnownAgent {
  return {
    name: "Codex",
    adapter: "codex",
    config: {},
    check: {
      found: true,
      program: "/usr/local/bin/codex",
      version: "0.63.0",
      signed_in: true,
      problem: null,
      remedy: null,
    },
    profiles: [],
    ...change,
  };
}

const began = new Date(Date.now() - 754_000).toISOString();

const working = first(recorded("run_list", {}));
const process = first({ items: working.processes });

export function sampleRun(change: Partial<RunInfo> = {}): RunInfo {
  return {
    ...working,
    id: "execution-e1",
    project_id: "p1",
    task_id: "t1",
    task_number: 1,
    task_title: "Read the configuration once",
    execution_id: "e1",
    agent_id: "a1",
    machine_id: null,
    activity: "cargo test --workspace",
    started_at: began,
    processes: [
      sampleRunProcess(),
      sampleRunProcess({ pid: 4712, parent: 4711, command: "bash -lc cargo test", cpu_ms: 40 }),
      sampleRunProcess({
        pid: 4713,
        parent: 4712,
        command: "cargo test --workspace",
        cpu_ms: 61_000,
        rss_bytes: 812_000_000,
      }),
    ],
    ...change,
  };
}

export function sampleRunProcess(change: Partial<RunProcess> = {}): RunProcess {
  return {
    ...process,
    command: "codex app-server",
    cpu_ms: 9_400,
    rss_bytes: 188_000_000,
    started_at: began,
    ...change,
  };
}
