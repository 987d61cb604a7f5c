/**
 * Validation in every state, with the tasks whose work is validated (`?sample=validate`). Nothing is validated in the
 * recording, so attempts and results are made here; what is measured of an attempt is a recorded review's.
 */
import type {
  Attempt,
  CheckResult,
  IterationState,
  Measures,
  Task,
  ValidateInput,
  ValidateReport,
} from "#ui/api/generated.ts";
import { pageOf, refuse, type Handlers } from "./answers.ts";
import { cast, first, recorded } from "./recorded.ts";
import { sampleTask, sampleUsage, sampleWorkspace } from "./sample.ts";
import { sampleReview, sampleStep } from "./sampleReview.ts";
import { at } from "./sampleTasks.ts";

/** Of a first attempt that failed. */
const { measures } = first(recorded("task_reviews", { task_id: cast.tasks.judged }));
const calm: Measures = first({ items: measures ? [measures] : [] });

export const sampleAttempt = (change: Partial<Attempt> = {}): Attempt => ({
  attempt: 1,
  id: `attempt-${change.attempt ?? 1}`,
  at: at(20),
  passed: false,
  score: 0.5,
  failures: ["command npm test: 2 tests failed"],
  ...calm,
  ...change,
});

const tests = (passed: boolean): CheckResult => ({
  type: "command",
  passed,
  command: "npm test --workspace limits",
  exitCode: passed ? 0 : 1,
  timedOut: false,
  stdout: passed ? "12 tests passed\n" : "10 tests passed\n",
  stderr: passed ? "" : "src/limit.test.ts:41:12: expected 429, got 200\n2 tests failed\n",
  durationMs: passed ? 8_412 : 7_930,
});

const found: readonly CheckResult[] = [
  { type: "file_check", passed: true, file: "src/limit.ts" },
  { type: "syntax_check", passed: true, file: "src/limit.ts" },
  {
    type: "contract_check",
    passed: true,
    exporter: "src/limit.ts",
    importer: "src/login.ts",
    result: "pass",
    exported: ["Limiter", "Window"],
    imported: ["Limiter"],
    missing: [],
  },
];

export const sampleFound: readonly CheckResult[] = [
  { type: "file_check", passed: true, file: "src/limit.ts" },
  {
    type: "syntax_check",
    passed: false,
    file: "src/limit.ts",
    error: "Expected `,` or `)` but found `{`",
    line: 41,
    column: 18,
  },
  { type: "file_check", passed: false, file: "src/window.ts", error: "there is no such file" },
  {
    type: "contract_check",
    passed: false,
    exporter: "src/limit.ts",
    importer: "src/login.ts",
    result: "fail",
    exported: ["Limiter"],
    imported: ["Limiter", "Window"],
    missing: ["Window"],
  },
  {
    type: "contract_check",
    passed: null,
    exporter: "src/limit.ts",
    importer: "src/admin.ts",
    result: "unknown",
    exported: ["Limiter"],
    imported: [],
    missing: [],
    reason: "src/admin.ts imports nothing from src/limit.ts",
  },
  tests(false),
];

export const sampleInput: ValidateInput = {
  moduleId: "t1",
  commands: ["npm test --workspace limits"],
  files: ["src/limit.ts", "src/window.ts"],
  contractChecks: [{ exporter: "src/limit.ts", importer: "src/login.ts" }],
};

const state = (moduleId: string, change: Partial<IterationState> = {}): IterationState => ({
  moduleId,
  runId: null,
  attempts: [],
  input: null,
  results: [],
  unreadable: null,
  ...change,
});

const rising: readonly Attempt[] = [
  sampleAttempt({ attempt: 1, at: at(52), score: 0.25, failures: ["a", "b", "c"] }),
  sampleAttempt({ attempt: 2, at: at(31), score: 0.75, failures: ["c"] }),
  sampleAttempt({
    attempt: 3,
    at: at(4),
    score: 1,
    passed: true,
    failures: [],
    velocity: 0.375,
    recommendation: "PROCEED",
  }),
];

const stuck: readonly Attempt[] = [
  sampleAttempt({ attempt: 1, at: at(96), score: 0.25, failures: ["a", "b", "c"] }),
  sampleAttempt({ attempt: 2, at: at(71), score: 0.4, failures: ["b", "c", "d"] }),
  sampleAttempt({
    attempt: 3,
    at: at(44),
    score: 0.2,
    failures: ["a", "b", "c", "d"],
    velocity: -0.025,
    stagnant: true,
    recommendation: "ESCALATE",
  }),
  sampleAttempt({
    attempt: 4,
    at: at(12),
    score: 0.2,
    failures: ["a", "b", "c", "d"],
    velocity: -0.017,
    sameAsPrev: true,
    stagnant: true,
    recommendation: "ESCALATE",
  }),
];

interface Kind {
  readonly title: string;
  readonly state: Partial<IterationState>;
}

const kinds: readonly Kind[] = [
  {
    title: "Rate-limit the login endpoint",
    state: { attempts: [...rising], results: [...found, tests(true)], input: sampleInput },
  },
  {
    title: "Move the limits into a module",
    state: { attempts: [...stuck], results: [...sampleFound], input: sampleInput },
  },
  { title: "Nothing was validated yet", state: {} },
  {
    title: "The attempts are damaged",
    state: {
      unreadable: "expected `,` at line 3 column 1; the file is kept aside as t4.json.unreadable-1",
      input: null,
    },
  },
  { title: "The attempts cannot be read", state: {} },
];

export function sampleValidateTasks(project: string): Task[] {
  return kinds.map(({ title }, index) =>
    sampleTask({
      id: `t${index + 1}`,
      number: index + 1,
      title,
      project_id: project,
      position: index,
      status: "in_progress",
      roles: { coder: { type: "agent", id: "a2" } },
      review_config: { ci_steps: ["npm test"] },
      workspace: sampleWorkspace(),
      usage: { ...sampleUsage, cost_micro_usd: 412_000 },
      status_since: at(3),
    }),
  );
}

const reportOf = (passed: boolean): ValidateReport => ({
  passed,
  score: passed ? 1 : 0.2,
  results: passed ? [...found, tests(true)] : [...sampleFound],
  attempt: 1,
  ...calm,
  recommendation: passed ? "PROCEED" : "RETRY",
});

export const sampleReport = reportOf(true);

/** The answers of a host where nothing was ever validated. */
export const sampleUnvalidated = () =>
  ({
    validate_state: ({ moduleId }) => state(moduleId),
    validate_log: () => ({ items: [], unreadable: 0 }),
  }) satisfies Handlers;

/** Task #N validates the module of its name; what is known of #5 cannot be read. */
const stored = new Map<string, IterationState>([
  ...kinds.map(({ state: kept }, index): [string, IterationState] => {
    const id = `t${index + 1}`;
    return [id, state(id, kept)];
  }),
  ["limits", state("limits", { attempts: [rising[0] ?? sampleAttempt()] })],
]);

export function validateAnswers(): Handlers {
  return {
    validate_state: ({ moduleId }) =>
      moduleId === "t5"
        ? refuse("internal", "failed to read the attempts: permission denied")
        : (stored.get(moduleId) ?? state(moduleId)),
    validate_log: () => ({
      items: [
        { at: at(50), type: "validate", moduleId: "limits", taskId: "t2", data: {} },
        { at: at(40), type: "validate", moduleId: "elsewhere", taskId: "t9", data: {} },
      ],
      unreadable: 0,
    }),
    task_reviews: ({ task_id }) =>
      pageOf([
        sampleReview({
          task_id,
          attempt_number: 2,
          measures: stuck[3] ?? null,
          steps: [
            sampleStep({ command: "npm run lint" }),
            sampleStep({ index: 1, command: "validate", exit_code: 1, validate: reportOf(false) }),
          ],
        }),
      ]),
  };
}
