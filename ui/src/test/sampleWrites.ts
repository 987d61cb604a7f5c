/**
 * What a write returns where a test says nothing of it: the object as it is read, unchanged. Nothing is decided and
 * nothing is kept here; a test that needs the state after a write supplies it.
 */
import type { Task } from "#ui/api/generated.ts";
import { movedTask, type Handlers, type Input, type OpName, type Output } from "./answers.ts";
import { sampleAgent, sampleProject, sampleTask, sampleWorkspace } from "./sample.ts";
import { sampleComment } from "./sampleDiff.ts";
import { sampleImport } from "./sampleIssues.ts";
import { sampleMachine } from "./sampleMachines.ts";
import { sampleHookTest } from "./sampleProcess.ts";
import { sampleReport } from "./sampleValidate.ts";

export interface Read {
  /** What the host answers now. */
  read<Op extends OpName>(op: Op, input: Input<Op>): Output<Op>;
  readonly tasks: readonly Task[];
}

const done = () => ({ done: true });

function missing(what: string): never {
  throw new Error(
    `Could not answer a write: the sample has no ${what}. Supply an answer in the test.`,
  );
}

export function unchangedAnswers({ read, tasks }: Read): Handlers {
  const task = ({ task_id }: { task_id: string }) => read("task_get", { task_id });
  const moved = (input: { task_id: string }) => movedTask(task(input));
  const project = ({ project_id }: { project_id: string }) => read("project_get", { project_id });
  const agent = ({ agent_id }: { agent_id: string }) =>
    read("agent_list", {}).items.find(({ id }) => id === agent_id) ?? missing(`agent ${agent_id}`);
  const machine = ({ machine_id }: { machine_id: string }) =>
    read("machine_list", {}).items.find(({ id }) => id === machine_id) ??
    missing(`machine ${machine_id}`);
  const worked = ({ execution_id }: { execution_id: string }) =>
    tasks.find(({ live }) => live?.execution_id === execution_id) ?? tasks[0] ?? sampleTask();
  const lesson = ({ project_id, lesson_id }: { project_id: string; lesson_id: string }) =>
    read("knowledge_list", { project_id }).items.find(({ id }) => id === lesson_id) ??
    missing(`lesson ${lesson_id}`);
  const workspace = ({ task_id }: { task_id: string }) =>
    read("workspace_list", {}).items.find((each) => each.task_id === task_id) ??
    sampleWorkspace({ task_id });
  const fix = ({ task_id = null, fix_id }: { task_id?: string | null; fix_id: string }) =>
    read("fix_list", { task_id: task_id ?? "t1" }).proposals.find(
      ({ fixId }) => fixId === fix_id,
    ) ?? missing(`fix ${fix_id}`);
  const backup = (name?: string) =>
    read("database_backups", {}).items.find((each) => !name || each.name === name) ??
    missing(`backup ${name ?? ""}`);
  return {
    project_create: () => sampleProject(),
    demo_create: () => sampleProject({ name: "Demo" }),
    project_update: project,
    project_pause: project,
    project_resume: project,
    project_delete: done,
    project_settings_update: ({ project_id }) => read("project_settings_get", { project_id }),
    project_workflow_put: ({ project_id }) => read("project_workflow_get", { project_id }),
    project_trust_accept: ({ project_id }) => read("project_trust", { project_id }),
    project_checks_take: done,
    hook_test: () => sampleHookTest(),
    code_host_token_put: done,
    code_host_token_forget: done,
    agent_create: () => sampleAgent(),
    agent_update: agent,
    agent_pause: agent,
    agent_resume: agent,
    agent_delete: done,
    machine_create: ({ name, ssh = null, container = null, slurm = null, kubernetes = null }) =>
      sampleMachine({
        name,
        kind: kubernetes ? "kubernetes" : slurm ? "slurm" : container ? "container" : "ssh",
        ssh,
        container,
        slurm,
        kubernetes,
      }),
    machine_update: machine,
    machine_delete: () => ({ done: true, jobs_left: [] }),
    issue_import: () => sampleImport(),
    issue_import_file: ({ name }) => sampleImport({ kind: "markdown", source: name }),
    issue_import_cancel: () => sampleImport(),
    issue_import_continue: () => sampleImport(),
    task_issue_resolve: task,
    task_issue_retry: ({ task_id }) => read("task_issue", { task_id }),
    task_create: ({ project_id }) => sampleTask({ project_id }),
    task_claim: task,
    task_update: task,
    task_assign: task,
    task_undo: task,
    task_move: moved,
    task_action: moved,
    review_approve: moved,
    review_reject: moved,
    review_cancel: moved,
    pull_request_refresh: ({ task_id }) => read("task_pull_request", { task_id }),
    pull_request_send: task,
    execution_stop: worked,
    execution_follow_up: worked,
    approval_answer: ({ approval_id }) =>
      read("approval_list", { all: true }).items.find(({ id }) => id === approval_id) ??
      missing(`question ${approval_id}`),
    attachment_add: ({ task_id, name, path }) => ({
      id: "f1",
      task_id,
      name: name ?? path ?? "",
      bytes: 1_200,
      added_at: new Date().toISOString(),
      sent_at: null,
    }),
    attachment_remove: done,
    comment_create: ({ task_id }) => sampleComment({ task_id }),
    comment_update: ({ comment_id }) => sampleComment({ id: comment_id }),
    comment_delete: done,
    fix_apply: fix,
    fix_reject: fix,
    fix_rollback: fix,
    validate: () => sampleReport,
    validate_reset: ({ moduleId }) => read("validate_state", { moduleId }),
    knowledge_accept: lesson,
    knowledge_dismiss: lesson,
    workspace_measure: done,
    workspace_keep: workspace,
    workspace_remove: workspace,
    orphan_reclaim: done,
    orphan_adopt: ({ project_id }) => sampleTask({ project_id }),
    backup_restore: done,
    doors_update: () => read("doors_get", {}),
    doors_token_renew: () => read("doors_token", {}),
    settings_update: () => read("settings_get", {}),
    storage_update: () => read("storage_get", {}),
    storage_answer: () => read("storage_get", {}),
    database_backup_create: () => backup(),
    database_backup_restore: ({ name }) => ({ backup: backup(name), restart_required: true }),
    notification_read: done,
  };
}
