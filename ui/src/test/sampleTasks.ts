/** The many tasks of the sample project: every state, every kind of card, the same at each start. */
import type { Offer, Task } from "#ui/api/generated.ts";
import { sampleTask } from "./sample.ts";

const minute = 60_000;
export const at = (minutesAgo: number) => new Date(Date.now() - minutesAgo * minute).toISOString();

export const titles = [
  "Parse quoted fields in CSV import",
  "Flaky test: session expiry at midnight UTC",
  "Show the diff of a renamed file",
  "Retry the upload when the connection drops half-way through a multi-part request",
  "Dark theme for the e-mail templates",
  "Replace the hand-written date parser",
  "Search is slow with more than 10,000 documents",
  "Keyboard navigation in the command palette skips hidden entries",
  "Document the webhook signature",
  "Upgrade to Rust 1.95",
];
const long =
  "When the configuration names a folder that does not exist, the program starts all the same, writes to the current directory and only complains at the end, after an hour of work, which is then lost; it should look before it begins, say which folder is missing, who named it, and offer to create it, and do so in all commands";

const statuses = ["backlog", "todo", "in_progress", "review", "merging", "done", "cancelled"];
const shares = [60, 110, 18, 14, 2, 280, 16];
const activities = [
  "cargo nextest run -p parser",
  "Reading src/import/csv.rs",
  "Editing tests/session.rs",
  "Thinking about the edge cases",
];

const offer = (verb: Offer["verb"], label: string, fields: string[] = []): Offer => ({
  verb,
  label,
  fields,
  why: "",
});

/** A task with three parts, and one that waits for two others; their states stay as they are. */
function tie(tasks: Task[]): Task[] {
  const last = (status: string, nth = 1) => tasks.filter((task) => task.status === status).at(-nth);
  const parent = last("in_progress");
  const parts = [last("done"), last("todo"), last("todo", 2)];
  return tasks.map((task) => {
    if (task.waiting?.reason === "dependency_open") {
      return { ...task, depends_on: ["t1", "t2"], blocked_by: ["t1", "t2"] };
    }
    if (task === parent) return { ...task, subtasks: { closed: 1, total: 3 } };
    const index = parts.indexOf(task);
    if (!parent || index < 0) return task;
    return {
      ...task,
      parent_id: parent.id,
      execution_mode: index < 2 ? "ordered_turn" : "independent",
      subtask_order: index < 2 ? index + 1 : null,
      commit_result:
        index === 0
          ? { kind: "forge_commit", before: "9f4c1d27ab5e4e07", after: "1f2e3d4c5b6a7988" }
          : null,
    };
  });
}

export function tasksOf(project: string, size: number): Task[] {
  const tasks: Task[] = [];
  const total = shares.reduce((sum, share) => sum + share, 0);
  let number = 0;
  const add = (change: Partial<Task>) => {
    number += 1;
    tasks.push(
      sampleTask({
        id: `t${number}`,
        number,
        project_id: project,
        position: number * 1024,
        title: titles[number % titles.length] ?? "",
        priority: [0, 0, 2, 0, 3, 1, 0, 4][number % 8] ?? 0,
        roles: number % 4 === 0 ? {} : { coder: { type: "agent", id: `a${1 + (number % 3)}` } },
        created_at: at(number * 61),
        updated_at: at(number * 7),
        status_since: at(number * 13),
        ...change,
      }),
    );
  };
  add({ title: long, status: "todo", priority: 4 });
  add({
    status: "blocked",
    error_annotation: {
      type: "review_budget_exhausted",
      from_state: "review",
      message: "Checks failed three times: cargo test exits with 101",
      details: null,
      execution_id: "e1",
      evidence: {
        command: "cargo test --workspace",
        exit_code: 101,
        output:
          "test session::expires_at_midnight ... FAILED\n\nassertion `left == right` failed\n  left: 86399\n right: 86400",
        log_id: "l1",
      },
      at: at(25),
    },
    offers: [
      offer("reset_budget", "Reset retries"),
      offer("send_back", "Send back", ["reason"]),
      offer("approve", "Approve anyway", ["reason"]),
      offer("cancel", "Cancel task"),
    ],
  });
  add({
    status: "merge_failed",
    title: "Rename the settings module",
    error_annotation: {
      type: "merge_conflict",
      from_state: "merging",
      message: "Merging into main conflicts in src/settings.rs",
      details: null,
      execution_id: null,
      evidence: null,
      at: at(95),
    },
    offers: [offer("retry", "Try again"), offer("send_back", "Send back", ["reason"])],
  });
  add({
    status: "in_progress",
    title: "Undo me: dragged a moment ago",
    waiting: {
      reason: "undo",
      until: new Date(Date.now() + 20_000).toISOString(),
      files: [],
      message: "Starts soon",
    },
  });
  add({
    status: "in_progress",
    waiting: {
      reason: "agent_busy",
      until: null,
      files: [],
      message: "Waits for Codex local: 1 of 1 running",
    },
  });
  add({
    status: "todo",
    waiting: { reason: "dependency_open", until: null, files: [], message: "Waits for #1" },
  });
  add({
    status: "review",
    title: "Approve me",
    review: { attempt_number: 1, status: "awaiting_human", verdict: null, reviewed_commit: null },
    diff_stat: { files: 4, added: 312, removed: 48 },
    status_since: at(140),
    offers: [offer("approve", "Approve", ["reason"])],
  });
  add({
    status: "review",
    review: { attempt_number: 2, status: "running", verdict: null, reviewed_commit: null },
    diff_stat: { files: 1, added: 9, removed: 2 },
  });
  statuses.forEach((status, index) => {
    const count = Math.round(((shares[index] ?? 0) / total) * Math.max(0, size - 8));
    for (let each = 0; each < count; each += 1) {
      const worked = index >= 2 && status !== "cancelled";
      add({
        status,
        ...(status === "in_progress"
          ? {
              live: {
                execution_id: `e${number}`,
                agent_id: `a${1 + ((number + 1) % 3)}`,
                role: "coder",
                activity: activities[each % activities.length] ?? "",
                started_at: at(each * 3 + 1),
              },
            }
          : {}),
        ...(worked
          ? {
              diff_stat: { files: 3, added: (number * 37) % 900, removed: (number * 11) % 240 },
              usage: {
                ...sampleTask().usage,
                cost_micro_usd: (number * 91_357) % 4_000_000,
                runs_of_unknown_cost: number % 9 === 0 ? 1 : 0,
              },
            }
          : {}),
        ...(status === "done" || status === "merging"
          ? {
              review: {
                attempt_number: 1,
                status: "passed" as const,
                verdict: "pass" as const,
                reviewed_commit: null,
              },
            }
          : status === "in_progress" && each % 4 === 1
            ? {
                review: {
                  attempt_number: 1,
                  status: "failed" as const,
                  verdict: "fail" as const,
                  reviewed_commit: null,
                },
              }
            : {}),
      });
    }
  });
  return tie(tasks);
}
