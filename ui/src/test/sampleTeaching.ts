/**
 * What runs of the sample's tasks teach: a note, postmortems, and the checks that files imply. In the recording all of
 * it is switched off, so it is made here.
 */
import type {
  CheckOffer,
  Debrief,
  GateFailure,
  Postmortem,
  Trajectory,
} from "#ui/api/generated.ts";
import { pageOf, type Handlers } from "./answers.ts";
import { sampleUsage } from "./sample.ts";
import { at } from "./sampleTasks.ts";

export const sampleNote = (change: Partial<Trajectory> = {}): Trajectory => ({
  text: "The parser was the obvious place, but it never sees comments: the lexer drops them.\n\n- A cache keyed by path went stale on **rename**; keyed by inode it did not.\n- `cargo test` alone missed it, `cargo test --doc` caught it.",
  is_cut: false,
  execution_id: "e4",
  agent_id: "a2",
  at: at(8),
  ...change,
});

export const sampleFailure = (change: Partial<GateFailure> = {}): GateFailure => ({
  gate: "cargo test --workspace",
  attempt: 1,
  strategy: null,
  what: "check `cargo test --workspace` exited with 101",
  line: "src/cache.rs:41: expected `Option<Instant>`, found `Instant`",
  at: at(30),
  ...change,
});

export const samplePostmortem = (change: Partial<Postmortem> = {}): Postmortem => ({
  task_id: "t4",
  task_number: 4,
  title: "Cache the parsed configuration",
  number: 2,
  cause: "task_closed",
  review_id: null,
  state: "done",
  at: at(8),
  attempts: [
    {
      number: 1,
      state: "review",
      status: "failed",
      failed: sampleFailure(),
      commit: "1a1b2c3d",
      judged_ms: 42_000,
      agent_ms: 372_000,
      runs: 2,
      cost_micro_usd: 212_000,
      started_at: at(31),
    },
    {
      number: 2,
      state: "review",
      status: "passed",
      failed: null,
      commit: "2a1b2c3d",
      judged_ms: 61_000,
      agent_ms: 95_000,
      runs: 1,
      cost_micro_usd: null,
      started_at: at(12),
    },
  ],
  gates: [
    { gate: "cargo fmt --check", passed: 2, failed: 0, flapping: false },
    { gate: "cargo test --workspace", passed: 1, failed: 1, flapping: true },
    { gate: "auditor", passed: 1, failed: 0, flapping: false },
  ],
  first_failure: sampleFailure(),
  entries: [
    {
      race: 1,
      strategy: "cheap",
      status: "finished",
      gate: "passed",
      failed: null,
      duration_ms: 184_000,
      cost_micro_usd: 20_000,
    },
    {
      race: 1,
      strategy: "broken",
      status: "finished",
      gate: "failed",
      failed: sampleFailure({ strategy: "broken" }),
      duration_ms: 90_000,
      cost_micro_usd: null,
    },
  ],
  runs: 5,
  usage: { ...sampleUsage, cost_micro_usd: 432_000, runs_of_unknown_cost: 1 },
  agent_ms: 741_000,
  wall_ms: 3_840_000,
  ...change,
});

const offers: readonly CheckOffer[] = [
  { command: "cargo fmt --check", source: "Cargo.toml" },
  { command: "cargo test --workspace", source: "Cargo.toml" },
  { command: "npm run lint", source: "package.json" },
];
const nothing: Debrief = { note: null, postmortems: [] };

/** The checks that the files of a repository imply. */
const sampleCheckOffers = pageOf(offers);

/** Task #4 of the sample `races` left something behind; project p2 has no checks and wants to be asked. */
export function teachingAnswers(sample: string | null): Handlers {
  return {
    task_debrief: ({ task_id }) =>
      sample === "races" && task_id === "t4"
        ? {
            note: sampleNote(),
            postmortems: [
              samplePostmortem({
                number: 1,
                cause: "gate_failed",
                state: "review",
                at: at(30),
                attempts: samplePostmortem().attempts.slice(0, 1),
                entries: [],
              }),
              samplePostmortem(),
            ],
          }
        : nothing,
    project_check_offers: ({ project_id }) => pageOf(project_id === "p2" ? offers : []),
    check_offers: () => sampleCheckOffers,
  };
}
