/** The sample host's workflow, its presets, what repositories offer to import, and tests of hooks. */
import type {
  HookTest,
  ImportOffer,
  LogEntry,
  LogPage,
  Preset,
  Workflow,
  WorkflowView,
} from "#ui/api/generated.ts";
import { pageOf, type Handlers } from "./answers.ts";
import { cast, first, recorded } from "./recorded.ts";
import { sampleWorkflow, sampleWorkflowView } from "./sample.ts";

const samplePresets: Preset[] = recorded("workflow_presets", {}).items;

const sampleImports: ImportOffer[] = [
  {
    source: ".cursor/worktrees.json",
    copy_files: [
      { pattern: ".env", mode: "copy" },
      { pattern: "config/local.*", mode: "symlink" },
    ],
    setup: ["npm ci"],
    notes: ["`setup-worktree-windows` has no equal here and is left out."],
    error: null,
  },
];

/** The recorded workflow's view, of another definition and version. */
export const sampleWorkflowAt = (
  version: number,
  workflow: Workflow = sampleWorkflow,
): WorkflowView => ({
  ...sampleWorkflowView,
  workflow,
  version,
});

/** What a hook's test came to, with a log of what it printed: the recording has none. */
export const sampleHookTest = (change: Partial<HookTest> = {}): HookTest => ({
  status: "ok",
  exit_code: 0,
  stdout: "Looking for the lock file\nInstalling 214 packages\nDone\n",
  stderr: "",
  duration_ms: 1_050,
  timed_out: false,
  working_dir: "/home/me/website",
  environment: { FORGE_EVENT: "before_work", FORGE_REPO_PATH: "/home/me/website" },
  log_id: "hook-test-1",
  log_path: "/home/me/.local/share/forge/logs/p1/hook-test-1.jsonl",
  error: null,
  ...change,
});

const log = first(recorded("task_executions", { task_id: cast.tasks.done }));
const printed: LogEntry = {
  ...first({ items: recorded("execution_logs", { execution_id: log.id }).entries }),
  execution_id: "",
  kind: "stdout",
};

export const samplePrinted = (...lines: readonly string[]): LogPage => ({
  entries: lines.map((text, index) => ({
    ...printed,
    seq: index + 1,
    id: String(index),
    body: { text },
  })),
  first_seq: 1,
  last_seq: lines.length,
  total: lines.length,
});

export function processAnswers(): Handlers {
  return {
    project_workflow_get: () => sampleWorkflowView,
    // Nothing is wrong with any definition; a test of what is wrong supplies the findings.
    workflow_check: ({ text, workflow }) => ({
      findings: [],
      notes: [],
      workflow: text ? (JSON.parse(text) as Workflow) : ((workflow ?? null) as Workflow | null),
    }),
    workflow_presets: () => pageOf(samplePresets),
    project_imports: () => pageOf(sampleImports),
    hook_test_log: () => samplePrinted("Looking for the lock file\n"),
  };
}
