/** An agent's profile as the dialog's fields, and back. Pure. */
import type { Agent, CreateAgent } from "#ui/api/generated.ts";

export interface AgentForm {
  readonly name: string;
  readonly command: string;
  /** Whether the command is a program with arguments of its own, or a line of shell. */
  readonly mode: "line" | "program";
  /** One argument a line. */
  readonly args: string;
  /** `NAME=value`, one a line. */
  readonly env: string;
  readonly wallClock: string;
  readonly silence: string;
  readonly maxConcurrent: string;
}

export const emptyForm: AgentForm = {
  name: "",
  command: "",
  mode: "line",
  args: "",
  env: "",
  wallClock: "",
  silence: "",
  maxConcurrent: "1",
};

interface ShellConfig {
  readonly command?: string;
  readonly args?: readonly string[] | null;
  readonly env?: Readonly<Record<string, string>> | null;
  readonly wall_clock_seconds?: number | null;
  readonly silence_seconds?: number | null;
}

export function formOf(agent: Agent): AgentForm {
  const config = (agent.config ?? {}) as ShellConfig;
  return {
    name: agent.name,
    command: config.command ?? "",
    mode: config.args ? "program" : "line",
    args: config.args?.join("\n") ?? "",
    env: Object.entries(config.env ?? {})
      .map(([name, value]) => `${name}=${value}`)
      .join("\n"),
    wallClock: String(config.wall_clock_seconds ?? ""),
    silence: String(config.silence_seconds ?? ""),
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

const seconds = (text: string) => (text.trim() === "" ? {} : Number(text));

export function configOf(form: AgentForm): Record<string, unknown> {
  const env = form.env
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "")
    .map((line) => [line.slice(0, line.indexOf("=")), line.slice(line.indexOf("=") + 1)] as const);
  const wall = seconds(form.wallClock);
  const silence = seconds(form.silence);
  return {
    command: form.command.trim(),
    ...(form.mode === "program"
      ? { args: form.args.split("\n").filter((line) => line !== "") }
      : {}),
    ...(env.length > 0 ? { env: Object.fromEntries(env) } : {}),
    ...(typeof wall === "number" ? { wall_clock_seconds: wall } : {}),
    ...(typeof silence === "number" ? { silence_seconds: silence } : {}),
  };
}

export function createInput(form: AgentForm): CreateAgent {
  return {
    name: form.name.trim(),
    adapter: "shell",
    config: configOf(form),
    max_concurrent: Number(form.maxConcurrent),
  };
}

/** Command lines that work as they are, for those who have the program. */
export const examples: readonly { readonly name: string; readonly command: string }[] = [
  { name: "Codex", command: "codex exec --sandbox workspace-write - < {prompt_file}" },
  { name: "Claude", command: "claude -p --permission-mode acceptEdits < {prompt_file}" },
  { name: "aider", command: "aider --yes-always --no-auto-commits --message-file {prompt_file}" },
];
