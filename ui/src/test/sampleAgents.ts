/** Answers about agents at work: programs of this machine, what runs, what is asked and said. */
import type {
  AddAttachment,
  AnswerApproval,
  Approval,
  Attachment,
  FollowUp,
  ListApprovals,
  Task,
  Transition,
} from "#ui/api/generated.ts";
import { sampleTask, sampleUsage } from "./sample.ts";
import { sampleAsked, sampleExecutions, sampleLayers, sampleLogs } from "./sampleConversation.ts";
import { createSamplePrograms } from "./samplePrograms.ts";
import { sampleRun, sampleRunProcess } from "./sampleRuns.ts";
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
  let approvals = busy ? sampleAsked() : [];
  const queued: Transition["steps"] = [];
  let files: readonly Attachment[] = [];
  let fileCount = 0;
  let looks = 0;
  return {
    ...createSamplePrograms(sample, profilesOf),
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
    attachment_list: ({ task_id }: { task_id: string }) =>
      page(files.filter((file) => file.task_id === task_id)),
    attachment_add: ({ task_id, name, path, data }: AddAttachment): Attachment => {
      const added = {
        id: `f${(fileCount += 1)}`,
        task_id,
        name: name ?? path?.split("/").at(-1) ?? "",
        bytes: data ? Math.floor((data.length * 3) / 4) : 1_200,
        added_at: new Date().toISOString(),
        sent_at: null,
      };
      files = [...files, added];
      changed(`task:${task_id}`);
      return added;
    },
    attachment_remove: ({ attachment_id }: { attachment_id: string }) => {
      files = files.filter(({ id }) => id !== attachment_id);
      changed("task:t1");
      return { done: true };
    },
    approval_list: ({ task_id, all }: ListApprovals) =>
      page(
        approvals.filter(
          (each) =>
            (!task_id || each.task_id === task_id || each.raced?.task_id === task_id) &&
            (all || each.status === "pending"),
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
      changed("approvals", "executions", "attention", `task:${before.task_id}`);
      return after;
    },
    ...(busy
      ? {
          task_executions: ({ task_id }: { task_id: string }) =>
            page(sampleExecutions.filter((each) => each.task_id === task_id)),
          execution_logs: ({ execution_id, after }: { execution_id: string; after?: number }) => {
            const all = sampleLogs[execution_id] ?? [];
            const entries = all.filter(({ seq }) => (seq ?? 0) > (after ?? 0));
            return {
              entries,
              first_seq: entries[0]?.seq ?? 0,
              last_seq: entries.at(-1)?.seq ?? 0,
              total: all.length,
            };
          },
          execution_follow_up: ({ execution_id, at_once, message, attachments }: FollowUp) => {
            const id = sampleExecutions.find((each) => each.id === execution_id)?.task_id ?? "t1";
            const sent = files.filter((file) => attachments?.includes(file.id));
            files = files.filter((file) => !sent.includes(file));
            if (!at_once) {
              queued.push({
                phase: "work_end",
                action: "follow_up",
                status: "pending",
                outcome: null,
                reason: null,
                duration_ms: null,
                log_id: null,
                message: { text: message, comments: 0, files: sent.map(({ name }) => name) },
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
            const id = sampleExecutions.find((each) => each.id === execution_id)?.task_id ?? "t1";
            return change(id, { live: null });
          },
          task_prompt_preview: sampleLayers,
        }
      : {}),
  };
}
