import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { NumberField } from "#ui/components/NumberField.tsx";
import { Said } from "#ui/components/Said.tsx";
import { Select } from "#ui/components/Select.tsx";
import { TextField } from "#ui/components/TextField.tsx";
import { thisComputer } from "#ui/domain/machines/machines.ts";
import { useKnown, useMachines } from "#ui/domain/machines/useMachines.ts";
import { submitters, type SlurmForm } from "./slurm.ts";
import styles from "./MachinesScreen.module.css";

/** Where the jobs of a cluster are submitted, and what they ask for. */
export function SlurmFields({
  form,
  onChange,
  at,
  folder,
}: {
  form: SlurmForm;
  onChange: (change: Partial<SlurmForm>) => void;
  /** What is wrong with a field. */
  at: (field: string) => string | undefined;
  /** The field of the folder: which one will do depends on where jobs are submitted. */
  folder: ReactNode;
}) {
  const { t } = useTranslation();
  const machines = useMachines();
  const known = useKnown();
  const names = submitters(machines, form.via);
  const asDecided = t("machines.slurm.asDecided");
  return (
    <>
      <Select<string>
        label={t("machines.slurm.via")}
        hint={known === "read" && names.length === 0 ? t("machines.slurm.viaNone") : undefined}
        value={form.via}
        options={[
          { value: thisComputer, label: t("machines.slurm.here") },
          ...names.map((name) => ({ value: name, label: name })),
        ]}
        error={at("slurm.via")}
        onChange={(via) => onChange({ via })}
      />
      {folder}
      <div className={styles.even}>
        <TextField
          label={t("machines.slurm.partition")}
          placeholder={asDecided}
          value={form.partition}
          error={at("slurm.partition")}
          onChange={(partition) => onChange({ partition })}
        />
        <TextField
          label={t("machines.slurm.account")}
          placeholder={asDecided}
          value={form.account}
          error={at("slurm.account")}
          onChange={(account) => onChange({ account })}
        />
      </div>
      <div className={styles.even}>
        <NumberField
          label={t("machines.slurm.minutes")}
          placeholder={asDecided}
          value={form.jobMinutes}
          error={at("slurm.time_minutes")}
          onChange={(jobMinutes) => onChange({ jobMinutes })}
        />
        <NumberField
          label={t("machines.slurm.cpus")}
          placeholder={asDecided}
          value={form.jobCpus}
          error={at("slurm.cpus")}
          onChange={(jobCpus) => onChange({ jobCpus })}
        />
      </div>
      <div className={styles.even}>
        <NumberField
          label={t("machines.slurm.memory")}
          placeholder={asDecided}
          value={form.jobMemory}
          error={at("slurm.memory_mb")}
          onChange={(jobMemory) => onChange({ jobMemory })}
        />
        <TextField
          label={t("machines.slurm.gres")}
          hint={<Said text={t("machines.slurm.gresHint")} />}
          placeholder={asDecided}
          value={form.gres}
          error={at("slurm.gres")}
          onChange={(gres) => onChange({ gres })}
        />
      </div>
    </>
  );
}
