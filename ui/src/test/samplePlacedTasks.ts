/** Tasks on machines of each contact, tasks that wait for one, and what runs where. */
import type { RunInfo, Task, WaitReason } from "#ui/api/generated.ts";
import { sampleTask, sampleUsage, sampleWorkspace } from "./sample.ts";
import { sampleRun, sampleRunProcess } from "./sampleRuns.ts";
import { at } from "./sampleTasks.ts";

const live = (execution_id: string, activity: string, minutes: number) => ({
  execution_id,
  agent_id: "a2",
  role: "coder",
  activity,
  started_at: at(minutes),
});

const waits = (reason: WaitReason, message: string) => ({
  waiting: { reason, message, until: null, files: [] },
});

const placed = (task: string, machine_id: string | null) => ({
  workspace: sampleWorkspace({ id: `w${task}`, task_id: task, machine_id }),
});

export const sampleGiveUp = {
  verb: "give_up_machine" as const,
  label: "Give up machine",
  fields: [],
  why: "Continues elsewhere from the files as they were last fetched; newer files on the machine become a backup when it is back.",
};

export function samplePlacedTasks(project: string): Task[] {
  const work = {
    project_id: project,
    status: "in_progress",
    roles: { coder: { type: "agent" as const, id: "a2" } },
  };
  const rows: readonly (Partial<Task> & { id: string; title: string })[] = [
    {
      id: "t1",
      title: "Train the ranking model on the new judgements",
      live: live("e1", "python train.py --epochs 12", 31),
      usage: { ...sampleUsage, cost_micro_usd: 412_000 },
      ...placed("t1", "m1"),
      machines: ["gpu", "big"],
    },
    {
      id: "t2",
      title: "Measure the kernels on both cards",
      live: live("e2", "Reading src/kernels/gemm.cu", 4),
      ...placed("t2", "m1"),
    },
    {
      id: "t3",
      title: "Build the packages for ARM",
      ...waits("machine_unreachable", "waits for attic: not reachable since 2026-11-26 18:04 UTC"),
      offers: [sampleGiveUp],
      ...placed("t3", "m2"),
      machines: ["arm"],
    },
    {
      id: "t4",
      title: "Quantise the model",
      ...waits("machine_busy", "waits for gpu-box: is at its limit of runs"),
      machines: ["gpu"],
    },
    {
      id: "t5",
      title: "Try the model on a tensor processor",
      ...waits("no_machine", "no machine has the label tpu"),
      machines: ["tpu"],
    },
    {
      id: "t6",
      title: "Cross-compile for every platform that the release notes promise",
      status: "review",
      ...placed("t6", "m3"),
    },
    {
      id: "t7",
      title: "Drop the last callers of the old client",
      live: live("e7", "cargo test --workspace", 2),
      ...placed("t7", null),
    },
    { id: "t8", title: "Write the release notes", status: "todo", roles: {} },
    {
      id: "t9",
      title: "Sweep the learning rates",
      ...waits(
        "job_pending",
        "waits for hpc: Could not start job 4711 yet: jobs with a higher priority are ahead of it.",
      ),
      offers: [sampleGiveUp],
      ...placed("t9", "m5"),
      machines: ["cluster"],
    },
  ];
  return rows.map((change, index) =>
    sampleTask({ ...work, number: index + 1, position: index, status_since: at(31), ...change }),
  );
}

/** What runs: processes of another machine are not seen. */
export function samplePlacedRuns(look: number): RunInfo[] {
  const there = (number: number, task_title: string, activity: string, minutes: number) =>
    sampleRun({
      id: `execution-e${number}`,
      task_id: `t${number}`,
      task_number: number,
      task_title,
      execution_id: `e${number}`,
      agent_id: "a2",
      machine_id: "m1",
      activity,
      started_at: at(minutes),
      processes: [],
    });
  return [
    there(1, "Train the ranking model on the new judgements", "python train.py --epochs 12", 31),
    there(2, "Measure the kernels on both cards", "Reading src/kernels/gemm.cu", 4),
    {
      ...there(7, "Drop the last callers of the old client", "cargo test --workspace", 2),
      machine_id: null,
      processes: [
        sampleRunProcess({ command: "claude -p", cpu_ms: 9_400 + look * 60 }),
        sampleRunProcess({
          pid: 4712,
          parent: 4711,
          command: "cargo test --workspace",
          cpu_ms: 61_000 + look * 1_700,
          rss_bytes: 812_000_000,
        }),
      ],
    },
  ];
}
