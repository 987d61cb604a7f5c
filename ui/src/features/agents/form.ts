/** An agent's profile as the dialog's fields, and back. Pure. */
import type {
  AdapterKind,
  Agent,
  CreateAgent,
  KnownAgent,
  SandboxMode,
  UpdateAgent,
} from "#ui/api/generated.ts";

export const permissionModes = ["read_only", "ask", "edit", "unattended"] as const;
export type PermissionMode = (typeof permissionModes)[number];
export const defaultPermissions: PermissionMode = "edit";

/** Where an agent's sandbox comes from: its project, or the profile itself. */
export const sandboxChoices = ["project", "off", "files", "files_and_network"] as const;
export type SandboxChoice = "project" | SandboxMode;

export interface AgentForm {
  readonly name: string;
  readonly adapter: AdapterKind;
  /** Of a shell agent: a program with arguments of its own, or a line of shell. */
  readonly command: string;
  readonly mode: "line" | "program";
  /** Of the others: the program; empty for the adapter's own. */
  readonly program: string;
  /** One argument a line. */
  readonly args: string;
  /** `NAME=value`, one a line. */
  readonly env: string;
  /** Names of variables that are passed although they look like secrets, one a line. */
  readonly pass: string;
  readonly model: string;
  readonly effort: string;
  readonly permissions: PermissionMode;
  readonly sandbox: SandboxChoice;
  /** Labels of the machines of its runs; null leaves them to the project. */
  readonly machines: readonly string[] | null;
  readonly prefix: string;
  readonly wallClock: string;
  readonly silence: string;
  readonly turns: string;
  /** In dollars. */
  readonly cost: string;
  readonly maxConcurrent: string;
}

export const emptyForm: AgentForm = {
  name: "",
  adapter: "codex",
  command: "",
  mode: "line",
  program: "",
  args: "",
  env: "",
  pass: "",
  model: "",
  effort: "",
  permissions: defaultPermissions,
  sandbox: "project",
  machines: null,
  prefix: "",
  wallClock: "",
  silence: "",
  turns: "",
  cost: "",
  maxConcurrent: "1",
};

/** Whether a new agent is likely to run with this program at once. */
const readiness = ({ check, profiles }: KnownAgent): number =>
  (check.found ? 4 : 0) + (check.signed_in === false ? 0 : 2) + (profiles.length === 0 ? 1 : 0);

/** The form of a new agent: for a program that is installed, as far as any is. */
export function startForm(known: readonly KnownAgent[]): AgentForm {
  const [best] = known
    .filter(({ check }) => check.found)
    .toSorted((one, other) => readiness(other) - readiness(one));
  if (!best) return emptyForm;
  const { program, args } = (best.config ?? {}) as Config;
  // The other adapters find their own program.
  const own =
    best.adapter === "acp" ? { program: program ?? "", args: args?.join("\n") ?? "" } : {};
  return { ...emptyForm, adapter: best.adapter, ...own };
}

/** Either configuration of the contract: what a shell agent has, and what the others have. */
interface Config {
  readonly command?: string;
  readonly program?: string | null;
  readonly args?: readonly string[] | null;
  readonly env?: Readonly<Record<string, string>> | null;
  readonly environment?: { readonly pass?: readonly string[] } | null;
  readonly effort?: string | null;
  readonly permissions?: PermissionMode | null;
  readonly sandbox?: SandboxMode | null;
  readonly machines?: readonly string[] | null;
  readonly prompt_prefix?: string | null;
  readonly wall_clock_seconds?: number | null;
  readonly silence_seconds?: number | null;
  readonly turns?: number | null;
  readonly cost_micro_usd?: number | null;
}

const perDollar = 1_000_000;

export function formOf(agent: Agent): AgentForm {
  const config = (agent.config ?? {}) as Config;
  const number = (value: number | null | undefined) => String(value ?? "");
  return {
    name: agent.name,
    adapter: agent.adapter,
    command: config.command ?? "",
    mode: config.args ? "program" : "line",
    program: config.program ?? "",
    args: config.args?.join("\n") ?? "",
    env: Object.entries(config.env ?? {})
      .map(([name, value]) => `${name}=${value}`)
      .join("\n"),
    pass: config.environment?.pass?.join("\n") ?? "",
    model: agent.model ?? "",
    effort: config.effort ?? "",
    permissions: config.permissions ?? defaultPermissions,
    sandbox: config.sandbox ?? "project",
    machines: config.machines ?? null,
    prefix: config.prompt_prefix ?? "",
    wallClock: number(config.wall_clock_seconds),
    silence: number(config.silence_seconds),
    turns: number(config.turns),
    cost: config.cost_micro_usd == null ? "" : String(config.cost_micro_usd / perDollar),
    maxConcurrent: String(agent.max_concurrent),
  };
}

/** The line of the environment that is no `NAME=value`; null when all are. */
export function wrongEnvLine(text: string): string | null {
  return (
    text.split("\n").find((line) => line.trim() !== "" && !/^[A-Za-z_]\w*=/.test(line.trim())) ??
    null
  );
}

/** A key with its value, or nothing: what is left empty is left to the engine. */
function part<Value>(key: string, value: Value | null): Record<string, Value> {
  return value === null ? {} : { [key]: value };
}

const whole = (text: string) => (text.trim() === "" ? null : Number(text));
const worded = (text: string) => (text.trim() === "" ? null : text.trim());

const linesOf = (text: string) =>
  text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");

function environment(text: string): Record<string, string> | null {
  const lines = linesOf(text);
  if (lines.length === 0) return null;
  return Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf("=")), line.slice(line.indexOf("=") + 1)]),
  );
}

export function configOf(form: AgentForm): Record<string, unknown> {
  const args = form.args.split("\n").filter((line) => line !== "");
  const cost = whole(form.cost);
  const pass = linesOf(form.pass);
  const shared = {
    ...part("env", environment(form.env)),
    ...part("environment", pass.length > 0 ? { pass } : null),
    ...part("sandbox", form.sandbox === "project" ? null : form.sandbox),
    ...part("machines", form.machines),
    ...part("prompt_prefix", form.prefix.trim() === "" ? null : form.prefix),
    ...part("wall_clock_seconds", whole(form.wallClock)),
    ...part("silence_seconds", whole(form.silence)),
    ...part("cost_micro_usd", cost === null ? null : Math.round(cost * perDollar)),
  };
  if (form.adapter === "shell") {
    return {
      command: form.command.trim(),
      ...part("args", form.mode === "program" ? args : null),
      ...shared,
    };
  }
  return {
    ...part("program", worded(form.program)),
    ...part("args", args.length > 0 ? args : null),
    ...part("effort", worded(form.effort)),
    ...part("permissions", form.permissions === defaultPermissions ? null : form.permissions),
    ...shared,
    ...part("turns", whole(form.turns)),
  };
}

const modelOf = (form: AgentForm) => (form.adapter === "shell" ? null : worded(form.model));

export function createInput(form: AgentForm): CreateAgent {
  const model = modelOf(form);
  return {
    name: form.name.trim(),
    adapter: form.adapter,
    config: configOf(form),
    ...(model === null ? {} : { model }),
    max_concurrent: Number(form.maxConcurrent),
  };
}

export function updateInput(agent: Agent, form: AgentForm): UpdateAgent {
  return {
    agent_id: agent.id,
    name: form.name.trim(),
    config: configOf(form),
    model: modelOf(form),
    max_concurrent: Number(form.maxConcurrent),
  };
}

/** Whether enough is said to try: a name, and a program where the adapter knows none. */
export function isComplete(form: AgentForm): boolean {
  if (form.name.trim() === "") return false;
  if (form.adapter === "shell") return form.command.trim() !== "";
  return form.adapter !== "acp" || form.program.trim() !== "";
}

/** A number as it is typed: digits, and for money one point. */
export const digits = (text: string): string => text.replaceAll(/\D/g, "");
export const dollars = (text: string): string =>
  text
    .replace(",", ".")
    .replaceAll(/[^\d.]/g, "")
    .replace(/^(\d*\.\d*).*$/, "$1");

/** How a profile starts its program, in one line. */
export function commandLine(agent: Agent): string {
  const { adapter, command, program, args } = formOf(agent);
  const start = adapter === "shell" ? command : program || adapter;
  return [start, ...args.split("\n")].join(" ").trim();
}

/** Command lines that work as they are, for those who have the program. */
export const examples: readonly { readonly name: string; readonly command: string }[] = [
  { name: "aider", command: "aider --yes-always --no-auto-commits --message-file {prompt_file}" },
  { name: "Script", command: "scripts/agent.sh {prompt_file}" },
];
