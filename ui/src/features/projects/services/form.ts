/** A project's services as their form holds them. Pure. */
import type { ServiceDefinition, ServiceReady, ServiceStart } from "#ui/api/generated.ts";

export type ReadyKind = "none" | "http" | "port" | "pattern";

export interface EnvRow {
  readonly name: string;
  readonly value: string;
}

export interface ServiceForm {
  readonly name: string;
  readonly command: string;
  readonly cwd: string;
  readonly env: readonly EnvRow[];
  readonly ready: ReadyKind;
  /** The path of `http`, the expression of `pattern`. */
  readonly readyText: string;
  readonly readySeconds: number | null;
  readonly open: string;
  readonly start: ServiceStart;
  readonly stopMinutes: number | null;
}

export const maxServices = 10;
const maxName = 40;

export const emptyService: ServiceForm = {
  name: "",
  command: "",
  cwd: "",
  env: [],
  ready: "none",
  readyText: "",
  readySeconds: null,
  open: "",
  start: "manual",
  stopMinutes: null,
};

function readyOf(ready: ServiceReady | null | undefined): Pick<ServiceForm, "ready" | "readyText"> {
  if (typeof ready?.http === "string") return { ready: "http", readyText: ready.http };
  if (typeof ready?.pattern === "string") return { ready: "pattern", readyText: ready.pattern };
  return { ready: ready?.port ? "port" : "none", readyText: "" };
}

export const formOf = (service: ServiceDefinition): ServiceForm => ({
  name: service.name,
  command: service.command,
  cwd: service.cwd ?? "",
  env: Object.entries(service.env ?? {}).map(([name, value]) => ({ name, value })),
  ...readyOf(service.ready),
  readySeconds: service.ready_within_seconds ?? null,
  open: service.open ?? "",
  start: service.start ?? "manual",
  stopMinutes: service.stop_after_minutes ?? null,
});

const isNamed = ({ name }: EnvRow): boolean => name.trim() !== "";

function readyIn({ ready, readyText }: ServiceForm): ServiceReady | null {
  switch (ready) {
    case "http":
      return { http: readyText.trim() };
    case "pattern":
      return { pattern: readyText };
    case "port":
      return { port: true };
    case "none":
      return null;
  }
}

/** What is saved of a form: nothing of what is as it is without, and of its variables those that have a name. */
export function definitionOf(form: ServiceForm): ServiceDefinition {
  const env = form.env.filter(isNamed).map(({ name, value }) => [name.trim(), value]);
  const cwd = form.cwd.trim();
  const open = form.open.trim();
  const ready = readyIn(form);
  return {
    name: form.name.trim(),
    command: form.command.trim(),
    ...(cwd && { cwd }),
    ...(env.length > 0 && { env: Object.fromEntries(env) as Record<string, string> }),
    ...(ready && { ready }),
    ...(form.readySeconds !== null && { ready_within_seconds: form.readySeconds }),
    ...(open && { open }),
    ...(form.start !== "manual" && { start: form.start }),
    ...(form.stopMinutes !== null && { stop_after_minutes: form.stopMinutes }),
  };
}

/** The text of a draft, equal for equal services. */
export const textOf = (services: readonly ServiceDefinition[]): string =>
  JSON.stringify(services.map(formOf));

export const formsIn = (text: string): readonly ServiceForm[] =>
  JSON.parse(text) as readonly ServiceForm[];

export type EnvProblem = "envTwice" | "envUnnamed";

/**
 * What would lose the value of a row: a value without a name is not kept, and of a name's variables only the last is, so
 * that every one after the first is wrong.
 */
export function envProblem(env: readonly EnvRow[], index: number): EnvProblem | null {
  const row = env[index];
  if (!row) return null;
  if (!isNamed(row)) return row.value === "" ? null : "envUnnamed";
  const isSame = ({ name }: EnvRow) => name.trim() === row.name.trim();
  return env.slice(0, index).some(isSame) ? "envTwice" : null;
}

/** How many rows of a form hinder saving. */
export const problemsIn = ({ env }: ServiceForm): number =>
  env.filter((_, index) => envProblem(env, index) !== null).length;

export const canBeSaved = (forms: readonly ServiceForm[]): boolean =>
  forms.every((form) => problemsIn(form) === 0);

/** The name, or the first with a number behind it that is not taken: `web`, `web-2`, `web-3`. */
export function freeName(wanted: string, taken: readonly string[]): string {
  if (!taken.includes(wanted)) return wanted;
  const base = wanted.replace(/-\d+$/, "");
  for (let number = 2; ; number += 1) {
    const end = `-${number}`;
    const name = base.slice(0, maxName - end.length) + end;
    if (!taken.includes(name)) return name;
  }
}
