/** What the jobs of a machine ask for, as the dialog's fields, and back. Pure. */
import type { Machine, SlurmConfig } from "#ui/api/generated.ts";
import { thisComputer } from "#ui/domain/machines/machines.ts";

export interface SlurmForm {
  /** The name of the machine of ssh on which jobs are submitted, or this computer. */
  readonly via: string;
  readonly partition: string;
  readonly account: string;
  readonly jobMinutes: number | null;
  readonly jobCpus: number | null;
  readonly jobMemory: number | null;
  readonly gres: string;
}

export const emptySlurm: SlurmForm = {
  via: thisComputer,
  partition: "",
  account: "",
  jobMinutes: null,
  jobCpus: null,
  jobMemory: null,
  gres: "",
};

export const slurmFormOf = (config: SlurmConfig): SlurmForm => ({
  via: config.via ?? thisComputer,
  partition: config.partition ?? "",
  account: config.account ?? "",
  jobMinutes: config.time_minutes ?? null,
  jobCpus: config.cpus ?? null,
  jobMemory: config.memory_mb ?? null,
  gres: config.gres ?? "",
});

const worded = (text: string): string | null => text.trim() || null;

/** What is empty is as the cluster has it. */
export const slurmOf = (form: SlurmForm): SlurmConfig => ({
  partition: worded(form.partition),
  account: worded(form.account),
  time_minutes: form.jobMinutes,
  cpus: form.jobCpus,
  memory_mb: form.jobMemory,
  gres: worded(form.gres),
  via: form.via === thisComputer ? null : form.via,
});

/** The machines of ssh, on which jobs can be submitted, by name; with the one that is chosen, which may not be known. */
export function submitters(machines: readonly Machine[], chosen: string): readonly string[] {
  const names = machines.filter(({ kind }) => kind === "ssh").map(({ name }) => name);
  return chosen === thisComputer || names.includes(chosen) ? names : [...names, chosen];
}
