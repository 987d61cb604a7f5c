/**
 * The sample host's workflow, hooks and settings: a small stand-in for the engine's own judgement.
 * It finds what the screens show; the engine finds more.
 */
import type {
  CheckWorkflow,
  Finding,
  HookTest,
  ImportOffer,
  LogEntry,
  Preset,
  PutWorkflow,
  Task,
  TestHook,
  Workflow,
  WorkflowReport,
  WorkflowView,
} from "#ui/api/generated.ts";
import { parseJson } from "#ui/draft/json.ts";
import { isTree } from "#ui/draft/path.ts";
import { recorded } from "./recorded.ts";
import { sampleWorkflow, sampleWorkflowView } from "./sample.ts";

export type Refuse = (code: string, message: string, details?: unknown, hints?: string[]) => never;

const kinds = new Set(["backlog", "initial", "active", "gate", "blocked", "terminal", "custom"]);

function findingsIn(value: unknown): Finding[] {
  const found: Finding[] = [];
  const add = (path: string, message: string) => found.push({ path, message });
  if (!isTree(value)) return [{ path: "", message: "must be an object" }];
  const states = Array.isArray(value["states"]) ? value["states"].filter(isTree) : [];
  if (states.length === 0) add("states", "must be a list of states");
  const names = states.map(({ name }) => name);
  const exists = (path: string, target: unknown) => {
    if (!names.includes(target)) add(path, `no state \`${String(target)}\``);
  };
  states.forEach((state, index) => {
    const path = `states[${index}]`;
    if (typeof state["name"] !== "string" || state["name"] === "")
      add(`${path}.name`, "must not be empty");
    else if (names.indexOf(state["name"]) < index)
      add(`${path}.name`, `\`${state["name"]}\` is used twice`);
    if (state["column"] === "" || state["column"] === undefined)
      add(`${path}.column`, "must not be empty");
    if (!kinds.has(String(state["kind"])))
      add(`${path}.kind`, `\`${String(state["kind"])}\` is no kind of state`);
    for (const [trigger, target] of Object.entries(
      isTree(state["triggers"]) ? state["triggers"] : {},
    ))
      exists(`${path}.triggers.${trigger}.to`, isTree(target) ? target["to"] : undefined);
    const gate = state["gate_config"];
    if (isTree(gate) && gate["reject_target"] !== undefined && gate["reject_target"] !== null)
      exists(`${path}.gate_config.reject_target`, gate["reject_target"]);
  });
  exists("cancellation_state", value["cancellation_state"]);
  if (states.filter(({ kind }) => kind === "initial").length !== 1)
    add("states", "exactly one state must be of kind `initial`");
  return found;
}

export function checkSample({ text, workflow }: CheckWorkflow): WorkflowReport {
  const parsed = parseJson(text ?? JSON.stringify(workflow));
  if (!parsed.ok) {
    const { line, column } = parsed.error;
    const message = `not JSON: expected value at line ${line} column ${column}`;
    return { findings: [{ path: "", message }], notes: [], workflow: null };
  }
  const findings = findingsIn(parsed.value);
  const value = parsed.value as Workflow;
  const lacksBlocked =
    findings.length === 0 && value.states.every(({ kind }) => kind !== "blocked");
  return {
    findings,
    notes: lacksBlocked ? ["no state of kind `blocked`: added `blocked` in column Blocked"] : [],
    workflow: findings.length === 0 ? value : null,
  };
}

export const samplePresets: Preset[] = recorded("workflow_presets", {}).items;

export const sampleImports: ImportOffer[] = [
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

interface Process {
  readonly refuse: Refuse;
  readonly tasksOf: (project: string) => readonly Task[];
  readonly changed: (...tags: string[]) => void;
  readonly settingsOf: (project: string) => Record<string, unknown>;
}

export function createSampleProcess({ refuse, tasksOf, changed, settingsOf }: Process) {
  const workflows = new Map<string, { workflow: Workflow; version: number }>();
  const logs = new Map<string, string[]>();

  const view = (project: string): WorkflowView => {
    const { workflow, version } = workflows.get(project) ?? {
      workflow: sampleWorkflow,
      version: sampleWorkflowView.version,
    };
    const inRepository = settingsOf(project)["workflow_source"] === "repository";
    return {
      ...sampleWorkflowView,
      workflow,
      version,
      moves: workflow.states.map(({ name, kind }) => ({
        from: name,
        to:
          kind === "terminal"
            ? ["todo"]
            : workflow.states.map((other) => other.name).filter((other) => other !== name),
      })),
      source: inRepository ? "repository" : "project",
      origin: inRepository
        ? {
            commit: "4f2a9c1d0b7e63a5c8f1",
            looked_at: "b81d33e07a94f6c2150d",
            findings: [{ path: "states[3].role", message: "no role is called `auditor`" }],
          }
        : null,
    };
  };

  /** Puts a definition in force as somebody else would. */
  const replace = (project: string, workflow: Workflow) => {
    workflows.set(project, { workflow, version: view(project).version + 1 });
    changed("projects", `board:${project}`);
    return view(project);
  };

  const put = ({ project_id, version, text, workflow }: PutWorkflow): WorkflowView => {
    const report = checkSample({ text: text ?? null, workflow });
    if (!report.workflow)
      return refuse("invalid", "failed to put the workflow in force", {
        findings: report.findings,
      });
    const before = view(project_id);
    if (version !== null && version !== undefined && version !== before.version)
      return refuse(
        "version_conflict",
        "failed to put the workflow in force: it changed since it was read",
      );
    const names = new Set(report.workflow.states.map(({ name }) => name));
    const tasks = tasksOf(project_id).filter(({ status }) => !names.has(status));
    if (tasks.length > 0) {
      return refuse(
        "states_in_use",
        "failed to put the workflow in force: tasks are in states it removes",
        {
          tasks: tasks
            .slice(0, 200)
            .map(({ id, number, title, status }) => ({ id, number, title, status })),
        },
      );
    }
    return replace(project_id, report.workflow);
  };

  const entry = (text: string, index: number): LogEntry => ({
    seq: index + 1,
    at: 0,
    execution_id: "",
    turn: 1,
    id: String(index),
    parent_id: null,
    kind: "stdout",
    status: null,
    body: { text },
    raw_offset: 0,
  });

  /** Prints three lines, one after the other, and fails when the command says `exit`. */
  const testHook = async ({ task_id, event, hook, log_id }: TestHook): Promise<HookTest> => {
    const id = log_id ?? "hook-test-1";
    const lines: string[] = [];
    logs.set(id, lines);
    for (const line of ["Looking for the lock file\n", "Installing 214 packages\n", "Done\n"]) {
      await new Promise((resolve) => setTimeout(resolve, 350));
      lines.push(line);
      changed(`log:${id}`);
    }
    const command = hook?.type === "script" ? hook.command : "";
    const code = Number(/exit (\d+)/.exec(command)?.[1] ?? 0);
    const dir = task_id ? `/home/me/.local/share/forge/worktrees/${task_id}` : "/home/me/website";
    return {
      status: hook?.type === "plugin" ? "skipped" : code === 0 ? "ok" : "failed",
      exit_code: hook?.type === "plugin" ? null : code,
      stdout: lines.join(""),
      stderr: code === 0 ? "" : "npm error code ELIFECYCLE\n",
      duration_ms: 1_050,
      timed_out: false,
      working_dir: dir,
      environment: {
        FORGE_EVENT: event,
        FORGE_PROJECT_NAME: "Website",
        FORGE_REPO_PATH: "/home/me/website",
        FORGE_TASK_ID: task_id ?? "",
        FORGE_WORKTREE_PATH: task_id ? dir : "",
      },
      log_id: id,
      log_path: `/home/me/.local/share/forge/logs/p1/${id}.jsonl`,
      error: code === 0 ? null : `exited with ${code}`,
    };
  };

  const logPage = ({ log_id }: { log_id: string }) => {
    const entries = (logs.get(log_id) ?? []).map(entry);
    return { entries, first_seq: 1, last_seq: entries.length, total: entries.length };
  };

  return {
    replace,
    /** The project changed, its workflow did not. */
    bump: (project: string) => {
      const { workflow, version } = view(project);
      workflows.set(project, { workflow, version: version + 1 });
    },
    /** What the engine would refuse of lifecycle hooks. */
    checkHooks: (hooks: unknown): Finding[] => {
      if (!isTree(hooks)) return [];
      return Object.entries(hooks).flatMap(([event, list]) =>
        (Array.isArray(list) ? list : []).flatMap((hook, index): Finding[] => {
          if (!isTree(hook) || hook["type"] !== "script") return [];
          const path = `lifecycle_hooks.${event}[${index}]`;
          return [
            ...(String(hook["command"] ?? "").trim() === ""
              ? [{ path: `${path}.command`, message: "must be a shell command, not blank" }]
              : []),
            ...(hook["blocking"] === true && event !== "before_work"
              ? [
                  {
                    path: `${path}.blocking`,
                    message: `only a \`before_work\` script can block; remove it from \`${event}\``,
                  },
                ]
              : []),
          ];
        }),
      );
    },
    answers: {
      project_workflow_get: ({ project_id }: { project_id: string }) => view(project_id),
      project_workflow_put: put,
      workflow_check: checkSample,
      workflow_presets: () => ({ items: samplePresets, next_cursor: null }),
      project_imports: () => ({ items: sampleImports, next_cursor: null }),
      hook_test: testHook,
      hook_test_log: logPage,
      task_log: logPage,
    },
  };
}
