/** Answers about agents at work: programs of this machine, what runs, what is asked and said. */
import type { RunInfo, Task } from "#ui/api/generated.ts";
import { pageOf, refuse, type Handlers } from "./answers.ts";
import { sampleTask, sampleUsage } from "./sample.ts";
import { sampleAsked, sampleExecutions, sampleLayers, sampleLogs } from "./sampleConversation.ts";
import { samplePlacedRuns } from "./samplePlacedTasks.ts";
import { programAnswers } from "./samplePrograms.ts";
import { sampleRun, sampleRunProcess } from "./sampleRuns.ts";
import { at } from "./sampleTasks.ts";

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

/** What runs; the processes have worked a little longer at each look. */
export function sampleRunsAt(look: number, sample: string | null = "agents"): RunInfo[] {
  return [
    sampleRun({
      id: "execution-e2",
      task_title:
        sample === "agents" ? "Cache the parsed configuration" : "Read the configuration once",
      execution_id: "e2",
      agent_id: "a2",
      processes: [
        sampleRunProcess({
          command: "claude -p --input-format stream-json --output-format stream-json",
          cpu_ms: 9_400 + look * 60,
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
          cpu_ms: 61_000 + look * 1_700,
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
          cpu_ms: 30 + look * 400,
          rss_bytes: 96_000_000,
        }),
      ],
    }),
  ];
}

/** What is read where agents are at work. */
function busyAnswers(): Handlers {
  const asked = sampleAsked();
  return {
    approval_list: ({ task_id, all }) =>
      pageOf(
        asked.filter(
          (each) => (!task_id || each.task_id === task_id) && (all || each.status === "pending"),
        ),
      ),
    task_executions: ({ task_id }) =>
      pageOf(sampleExecutions.filter((each) => each.task_id === task_id)),
    execution_get: ({ execution_id }) =>
      sampleExecutions.find(({ id }) => id === execution_id) ??
      refuse("not_found", "failed to find the run"),
    execution_logs: ({ execution_id, after }) => {
      const all = sampleLogs[execution_id] ?? [];
      const entries = all.filter(({ seq }) => (seq ?? 0) > (after ?? 0));
      return {
        entries,
        first_seq: entries[0]?.seq ?? 0,
        last_seq: entries.at(-1)?.seq ?? 0,
        total: all.length,
      };
    },
    task_transitions: () =>
      pageOf([
        {
          id: "x1",
          from: "todo",
          to: "in_progress",
          trigger: "claim",
          actor: "user:board",
          reason: null,
          rejection: false,
          steps: [],
          at: at(31),
        },
      ]),
    task_prompt_preview: sampleLayers,
  };
}

export function agentAnswers(sample: string | null): Handlers {
  const works = sample === null || sample === "agents";
  return {
    ...programAnswers(sample),
    run_list: () =>
      pageOf(sample === "machines" ? samplePlacedRuns(1) : works ? sampleRunsAt(1, sample) : []),
    attachment_list: () => pageOf([]),
    approval_list: () => pageOf([]),
    ...(sample === "agents" ? busyAnswers() : {}),
  };
}
