/** A machine as the dialog's fields, and back; where it leads, and what the engine says of its lists. Pure. */
import { findingsOf, type Finding } from "#ui/api/findings.ts";
import type { ApiError } from "#ui/api/error.ts";
import type {
  CreateMachine,
  Machine,
  MachineKind,
  SshConfig,
  UpdateMachine,
} from "#ui/api/generated.ts";
import {
  containerFormOf,
  containerOf,
  emptyContainer,
  sourceOf,
  type ContainerForm,
} from "./container.ts";
import {
  emptyKubernetes,
  kubernetesFormOf,
  kubernetesOf,
  podRoot,
  type KubernetesForm,
} from "./kubernetes.ts";
import { emptySlurm, slurmFormOf, slurmOf, type SlurmForm } from "./slurm.ts";

/** The folder of Forge there, unless said otherwise. */
export const defaultRootOf: Readonly<Record<MachineKind, string>> = {
  ssh: "~/.forge",
  container: "~/.forge",
  slurm: "~/.forge",
  kubernetes: podRoot,
};

export interface MachineForm extends ContainerForm, SlurmForm, KubernetesForm {
  readonly kind: MachineKind;
  readonly name: string;
  readonly host: string;
  readonly user: string;
  readonly port: number | null;
  readonly identityFile: string;
  /** One option a line. */
  readonly options: string;
  /** Empty for the default. */
  readonly root: string;
  /** Labels between commas or line ends. */
  readonly labels: string;
  readonly runs: number | null;
  readonly runsPerDay: number | null;
  /** Dollars as they are typed; empty for no limit. */
  readonly costPerDay: string;
}

const perDollar = 1_000_000;

/** An amount as it is typed: digits and one point. */
export const dollars = (text: string): string =>
  text
    .replace(",", ".")
    .replaceAll(/[^\d.]/g, "")
    .replace(/^(\d*\.\d*).*$/, "$1");

function microDollars(text: string): number | null {
  const amount = Number.parseFloat(text);
  return Number.isNaN(amount) ? null : Math.round(amount * perDollar);
}

export const emptyForm: MachineForm = {
  ...emptyContainer,
  ...emptySlurm,
  ...emptyKubernetes,
  kind: "ssh",
  name: "",
  host: "",
  user: "",
  port: null,
  identityFile: "",
  options: "",
  root: "",
  labels: "",
  runs: null,
  runsPerDay: null,
  costPerDay: "",
};

export function formOf(machine: Machine): MachineForm {
  const { kind, name, ssh, container, slurm, kubernetes, root, labels, caps, quota } = machine;
  return {
    ...(container ? containerFormOf(container) : emptyContainer),
    ...(slurm ? slurmFormOf(slurm) : emptySlurm),
    ...(kubernetes ? kubernetesFormOf(kubernetes) : emptyKubernetes),
    kind,
    name,
    host: ssh?.host ?? "",
    user: ssh?.user ?? "",
    port: ssh?.port ?? null,
    identityFile: ssh?.identity_file ?? "",
    options: ssh?.options?.join("\n") ?? "",
    root: root === defaultRootOf[kind] ? "" : root,
    labels: labels.join(", "),
    runs: caps.runs ?? null,
    runsPerDay: quota?.runs_per_day ?? null,
    costPerDay: quota?.micro_usd_per_day == null ? "" : String(quota.micro_usd_per_day / perDollar),
  };
}

/** The parts of a text between separators, without empty ones. */
const partsOf = (text: string, separator: RegExp): string[] =>
  text
    .split(separator)
    .map((part) => part.trim())
    .filter((part) => part !== "");

const worded = (text: string): string | null => text.trim() || null;

const sshOf = (form: MachineForm): SshConfig => ({
  host: form.host.trim(),
  user: worded(form.user),
  port: form.port,
  identity_file: worded(form.identityFile),
  options: partsOf(form.options, /\n/),
});

/** How the machine is reached, or made: the part of its kind. */
function wayOf(form: MachineForm): Pick<CreateMachine, MachineKind> {
  switch (form.kind) {
    case "ssh":
      return { ssh: sshOf(form) };
    case "container":
      return { container: containerOf(form) };
    case "slurm":
      return { slurm: slurmOf(form) };
    case "kubernetes":
      return { kubernetes: kubernetesOf(form) };
  }
}

/** All of the form as the contract has it. What is empty is left to ssh or the cluster, or unlimited. */
function valuesOf(form: MachineForm) {
  return {
    name: form.name.trim(),
    ...wayOf(form),
    root: worded(form.root) ?? defaultRootOf[form.kind],
    labels: partsOf(form.labels, /[\n,]/),
    caps: { runs: form.runs },
    quota: {
      runs_per_day: form.runsPerDay,
      micro_usd_per_day: microDollars(form.costPerDay),
    },
  };
}

export const createInput = (form: MachineForm): CreateMachine => valuesOf(form);

export const updateInput = ({ id }: Machine, form: MachineForm): UpdateMachine => ({
  machine_id: id,
  ...valuesOf(form),
});

/** Whether enough is said to try. */
export function isComplete(form: MachineForm): boolean {
  const required: Readonly<Record<MachineKind, readonly string[]>> = {
    ssh: [form.host],
    container: [form.source],
    // What jobs ask for can be left to the cluster.
    slurm: [],
    kubernetes: [form.namespace, form.podImage],
  };
  return [form.name, ...required[form.kind]].every((text) => text.trim() !== "");
}

/** Where a machine leads: `user@host:port`, as far as that is said, or what its containers are made from. */
export function targetOf({ ssh, container }: Pick<Machine, "ssh" | "container">): string {
  if (container) return sourceOf(container).source;
  const { host = "", user, port } = ssh ?? {};
  return `${user ? `${user}@` : ""}${host}${port ? `:${port}` : ""}`;
}

export interface LineFinding {
  /** The line that is wrong; null when it is the list as a whole. */
  readonly line: string | null;
  readonly message: string;
}

/** What the engine says about a list, each finding with the line that was sent. */
export function lineFindings(
  error: ApiError | null,
  field: string,
  sent: readonly string[],
): readonly LineFinding[] {
  const indexOf = ({ path }: Finding) =>
    path.startsWith(`${field}[`) ? Number.parseInt(path.slice(field.length + 1), 10) : null;
  return findingsOf(error)
    .filter(({ path }) => path === field || path.startsWith(`${field}[`))
    .map((finding) => {
      const index = indexOf(finding);
      return { line: index === null ? null : (sent[index] ?? null), message: finding.message };
    });
}
