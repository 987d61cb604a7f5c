/** The settings of a project that are one value each, as tables: a screen is a list of fields. */
import type { ParseKeys } from "i18next";
import type {
  EnvironmentMode,
  MergeStrategy,
  SandboxMode,
  SettingsView,
  ShellMode,
  WorkspaceReuse,
} from "#ui/api/generated.ts";
import type { LineKind, TextKind } from "./typed.ts";

/** A name in the message catalogue. */
export type Key = ParseKeys;
type Settings = SettingsView["settings"];

interface Named {
  /** Where the value is in the settings. */
  readonly path: string;
  readonly label: Key;
  /** Several are said one after the other. */
  readonly hint?: Key | readonly Key[];
  /** Whether the field is there at all. */
  readonly when?: (settings: Settings) => boolean;
}

export interface SwitchField extends Named {
  readonly kind: "switch";
}

export interface TextFieldOf extends Named {
  readonly kind: TextKind;
  readonly mono?: boolean;
  readonly placeholder?: Key | { readonly text: string };
  readonly suffix?: Key | { readonly text: string };
}

export interface AreaField extends Named {
  readonly kind: "area";
}

export interface LinesField extends Named {
  readonly kind: "lines";
  /** The button that adds a line. */
  readonly add: Key;
  /** What a line is; a text without. */
  readonly of?: LineKind;
}

export interface ChoiceField extends Omit<Named, "hint"> {
  readonly kind: "choice";
  readonly options: readonly ChoiceOption[];
  /** What holds while nothing is set. */
  readonly usual: string;
}

export interface ChoiceOption {
  readonly value: string;
  readonly label: Key;
  readonly note?: Key;
  /** Said under the field while the option is chosen. */
  readonly hint?: Key;
}

/** A place for what is more than one value; the screen brings it. */
export interface PartField {
  readonly kind: "part";
  readonly part: string;
}

export type Field = SwitchField | TextFieldOf | AreaField | LinesField | ChoiceField | PartField;

export const checkFields: readonly Field[] = [
  {
    kind: "lines",
    path: "review_config.ci_steps",
    label: "projectSettings.checks",
    hint: "projectSettings.checksHint",
    add: "projectSettings.addCheck",
  },
  {
    kind: "number",
    path: "review_config.ci_timeout_seconds",
    label: "projectSettings.timeout",
    placeholder: { text: "1800" },
    suffix: "agents.seconds",
  },
  {
    kind: "switch",
    path: "review_config.allow_changes",
    label: "projectSettings.allowChanges",
    hint: "projectSettings.allowChangesHint",
  },
  {
    kind: "switch",
    path: "review_config.reuse_passes",
    label: "reviewSettings.reuse",
    hint: "reviewSettings.reuseHint",
  },
  {
    kind: "area",
    path: "review_config.review_prompt",
    label: "reviewSettings.prompt",
    hint: "reviewSettings.promptHint",
  },
];

export const validateFields: readonly Field[] = [
  {
    kind: "lines",
    path: "review_config.validate.files",
    label: "validate.files",
    hint: "validateGate.filesHint",
    add: "validateGate.addFile",
  },
  { kind: "part", part: "contracts" },
  {
    kind: "lines",
    path: "review_config.validate.commands",
    label: "validate.commands",
    hint: "validateGate.commandsHint",
    add: "validateGate.addCommand",
  },
];

const mergeStrategies: readonly MergeStrategy[] = ["merge", "squash", "rebase"];

export const mergeFields = (defaultBranch: string): readonly Field[] => [
  {
    kind: "text",
    path: "merge_config.target_branch",
    mono: true,
    label: "projectSettings.target",
    placeholder: { text: defaultBranch },
  },
  {
    kind: "choice",
    path: "merge_config.strategy",
    label: "projectSettings.strategy",
    usual: "merge",
    options: mergeStrategies.map((value) => ({
      value,
      label: `projectSettings.strategies.${value}` as const,
      note: `projectSettings.strategyNotes.${value}` as const,
    })),
  },
  {
    kind: "text",
    path: "merge_config.message_template",
    mono: true,
    label: "projectSettings.template",
    hint: "projectSettings.templateHint",
  },
];

export const automationFields = (isMcpOff: boolean): readonly Field[] => [
  {
    kind: "switch",
    path: "auto_start",
    label: "projectSettings.autoStart",
    hint: "projectSettings.autoStartHint",
  },
  {
    kind: "switch",
    path: "auto_approve",
    label: "projectSettings.autoApprove",
    hint: "projectSettings.autoApproveHint",
  },
  {
    kind: "number",
    path: "max_concurrent",
    label: "projectSettings.maxConcurrent",
    hint: "projectSettings.maxConcurrentHint",
  },
  {
    kind: "switch",
    path: "mcp.inject",
    label: "projectSettings.agentTools",
    hint: isMcpOff
      ? ["projectSettings.agentToolsHint", "projectSettings.agentToolsOff"]
      : "projectSettings.agentToolsHint",
  },
];

const notices = [
  "blocked",
  "awaiting_human",
  "agent_asks",
  "waiting",
  "done",
  "race_decided",
  "cost",
  "cost_anomaly",
  "disk",
] as const;

export const noticeFields: readonly Field[] = notices.map((kind) => ({
  kind: "switch",
  path: `notifications.${kind}`,
  label: `notifications.kind.${kind}`,
}));

export const costFields: readonly Field[] = (["execution", "task", "day"] as const).map(
  (limit) => ({
    kind: "dollars",
    path: `cost_limits.${limit}_micro_usd`,
    label: `costs.limit.${limit}`,
    hint: `costs.limitHint.${limit}`,
    placeholder: "projectSettings.noLimit",
    suffix: { text: "$" },
  }),
);

const issueReports = ["comment_start", "comment_done", "close_done"] as const;

/** What is written to issues. */
export const issueReportFields: readonly Field[] = [
  ...issueReports.map(
    (report) =>
      ({
        kind: "switch",
        path: `issues.reports.${report}`,
        label: `issueSettings.report.${report}`,
        hint: `issueSettings.reportHint.${report}`,
      }) as const,
  ),
  { kind: "part", part: "labels" },
];

const shellModes: readonly ShellMode[] = ["login_once", "login_each"];

export const setupFields: readonly Field[] = [
  { kind: "part", part: "copyFiles" },
  {
    kind: "lines",
    path: "setup",
    label: "projectSettings.setup",
    hint: "projectSettings.setupHint",
    add: "projectSettings.addSetup",
  },
  {
    kind: "lines",
    path: "shell",
    label: "projectSettings.shell",
    hint: "projectSettings.shellHint",
    add: "projectSettings.addShell",
  },
  {
    kind: "choice",
    path: "shell_mode",
    label: "projectSettings.shellMode",
    usual: "login_once",
    options: shellModes.map((value) => ({
      value,
      label: `projectSettings.shellModes.${value}` as const,
      hint: `projectSettings.shellModeHints.${value}` as const,
    })),
  },
];

const sandboxModes: readonly SandboxMode[] = ["off", "files", "files_and_network"];
const isSandboxed = ({ sandbox }: Settings) => (sandbox?.mode ?? "files") !== "off";

export const sandboxFields: readonly Field[] = [
  {
    kind: "choice",
    path: "sandbox.mode",
    label: "projectSettings.sandboxMode",
    usual: "files",
    options: sandboxModes.map((value) => ({
      value,
      label: `projectSettings.sandboxModes.${value}` as const,
      hint: `projectSettings.sandboxModeHints.${value}` as const,
    })),
  },
  {
    kind: "lines",
    path: "sandbox.write",
    label: "projectSettings.sandboxWrite",
    hint: "projectSettings.sandboxWriteHint",
    add: "projectSettings.addPath",
    when: isSandboxed,
  },
  {
    kind: "lines",
    path: "sandbox.hide",
    label: "projectSettings.sandboxHide",
    hint: "projectSettings.sandboxHideHint",
    add: "projectSettings.addPath",
    when: isSandboxed,
  },
  {
    kind: "lines",
    of: "port",
    path: "sandbox.ports",
    label: "projectSettings.sandboxPorts",
    hint: "projectSettings.sandboxPortsHint",
    add: "projectSettings.addPort",
    when: ({ sandbox }) => sandbox?.mode === "files_and_network",
  },
];

const environmentModes: readonly EnvironmentMode[] = ["safe", "minimal", "inherit_all"];

export const environmentFields: readonly Field[] = [
  {
    kind: "choice",
    path: "environment.mode",
    label: "projectSettings.environmentMode",
    usual: "safe",
    options: environmentModes.map((value) => ({
      value,
      label: `projectSettings.environmentModes.${value}` as const,
      hint: `projectSettings.environmentModeHints.${value}` as const,
    })),
  },
  {
    kind: "lines",
    path: "environment.pass",
    label: "projectSettings.environmentPass",
    hint: "projectSettings.environmentPassHint",
    add: "projectSettings.addVariable",
  },
  {
    kind: "lines",
    path: "redact",
    label: "projectSettings.redact",
    hint: "projectSettings.redactHint",
    add: "projectSettings.addPattern",
  },
];

const reuses: readonly WorkspaceReuse[] = ["off", "tracked", "with_ignored"];

export const worktreeFields: readonly Field[] = [
  {
    kind: "choice",
    path: "workspace_reuse",
    label: "projectSettings.reuse",
    usual: "off",
    options: reuses.map((value) => ({
      value,
      label: `projectSettings.reuses.${value}` as const,
      note: `projectSettings.reuseNotes.${value}` as const,
      hint: `projectSettings.reuseHints.${value}` as const,
    })),
  },
  {
    kind: "number",
    path: "workspace_pool_size",
    label: "projectSettings.pool",
    hint: "projectSettings.poolHint",
    when: ({ workspace_reuse }) => (workspace_reuse ?? "off") !== "off",
  },
  {
    kind: "number",
    path: "workspace_disk_cap_mib",
    label: "projectSettings.diskCap",
    hint: "projectSettings.diskCapHint",
    placeholder: "projectSettings.noLimit",
    suffix: { text: "MiB" },
  },
  {
    kind: "switch",
    path: "delete_merged_branches",
    label: "projectSettings.deleteBranches",
    hint: "projectSettings.deleteBranchesHint",
  },
];
