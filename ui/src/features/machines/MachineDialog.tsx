import { useState, type FormEvent } from "react";
import { useTranslation } from "react-i18next";
import { useOpMutation } from "#ui/api/client.ts";
import { findingAt, findingsOf, restOf } from "#ui/api/findings.ts";
import type { Machine, MachineKind } from "#ui/api/generated.ts";
import { Banner } from "#ui/components/Banner.tsx";
import { Button } from "#ui/components/Button.tsx";
import { Dialog } from "#ui/components/Dialog.tsx";
import { NumberField } from "#ui/components/NumberField.tsx";
import { SegmentedControl } from "#ui/components/SegmentedControl.tsx";
import { Stack } from "#ui/components/Stack.tsx";
import { TextArea, TextField } from "#ui/components/TextField.tsx";
import { ContainerFields } from "./ContainerFields.tsx";
import { KubernetesFields } from "./KubernetesFields.tsx";
import { SlurmFields } from "./SlurmFields.tsx";
import { SshFields } from "./SshFields.tsx";
import { mountLines } from "./container.ts";
import {
  createInput,
  defaultRootOf,
  dollars,
  emptyForm,
  formOf,
  isComplete,
  lineFindings,
  updateInput,
  type MachineForm,
} from "./form.ts";
import styles from "./MachinesScreen.module.css";

const fields = [
  "name",
  "ssh.host",
  "ssh.user",
  "ssh.port",
  "ssh.identity_file",
  "ssh.options",
  "container.engine",
  "container.image",
  "container.containerfile",
  "container.devcontainer",
  "container.network",
  "container.memory_mb",
  "container.cpus",
  "container.pids",
  "container.mounts",
  "container.user",
  "slurm.via",
  "slurm.partition",
  "slurm.account",
  "slurm.time_minutes",
  "slurm.cpus",
  "slurm.memory_mb",
  "slurm.gres",
  "kubernetes.context",
  "kubernetes.kubeconfig",
  "kubernetes.namespace",
  "kubernetes.image",
  "kubernetes.service_account",
  "kubernetes.resources",
  "kubernetes.tolerations",
  "root",
  "labels",
  "caps.runs",
  "quota.runs_per_day",
  "quota.micro_usd_per_day",
];
const kinds: readonly MachineKind[] = ["ssh", "container", "slurm", "kubernetes"];
const formId = "machine-form";

/** A machine: added without `machine`, changed with it. */
export function MachineDialog({
  machine,
  onClose,
}: {
  machine: Machine | null;
  onClose: () => void;
}) {
  const { t } = useTranslation();
  const [form, setForm] = useState(machine ? formOf(machine) : emptyForm);
  const create = useOpMutation("machine_create", { onSuccess: onClose });
  const update = useOpMutation("machine_update", { onSuccess: onClose });
  const { error, isPending, variables: sent } = machine ? update : create;
  const set = (change: Partial<MachineForm>) => setForm((before) => ({ ...before, ...change }));
  const at = (field: string) => findingAt(error, field);
  const inLines = (field: string, lines: readonly string[] | null | undefined) =>
    lineFindings(error, field, lines ?? [])
      .map(({ line, message }) =>
        line === null ? message : t("machines.findingOf", { line, message }),
      )
      .join(". ") || undefined;
  // Of the resources, two have fields of their own.
  const otherResources = findingsOf(error)
    .filter(
      ({ path }) =>
        path.startsWith("kubernetes.resources.") &&
        path !== "kubernetes.resources.cpu" &&
        path !== "kubernetes.resources.memory",
    )
    .map(({ path, message }) =>
      t("machines.findingOf", { line: path.slice("kubernetes.resources.".length), message }),
    )
    .join(". ");
  // The engine refuses a name that is taken as a whole; it is about that field all the same.
  const taken = error?.code === "name_taken" ? error.message : undefined;
  const rest = taken ? null : restOf(error, fields);
  const folder = (
    <TextField
      label={t(`machines.rootOf.${form.kind}`)}
      hint={t(`machines.rootHintOf.${form.kind}`)}
      placeholder={defaultRootOf[form.kind]}
      mono
      value={form.root}
      error={at("root")}
      onChange={(root) => set({ root })}
    />
  );
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (machine) update.mutate(updateInput(machine, form));
    else create.mutate(createInput(form));
  };
  return (
    <Dialog
      open
      onOpenChange={(open) => !open && onClose()}
      title={machine ? t("machines.editTitle", { name: machine.name }) : t("machines.addTitle")}
      description={t(`machines.dialogTextOf.${form.kind}`)}
      actions={
        <>
          <Button onClick={onClose}>{t("action.cancel")}</Button>
          <Button
            type="submit"
            form={formId}
            variant="primary"
            busy={isPending}
            disabled={!isComplete(form)}
          >
            {machine ? t("machines.save") : t("machines.addAction")}
          </Button>
        </>
      }
    >
      <Stack id={formId} as="form" gap={4} onSubmit={submit}>
        {rest && (
          <Banner tone="danger" title={t("machines.notSaved")}>
            {rest}
          </Banner>
        )}
        {!machine && (
          <SegmentedControl<MachineKind>
            label={t("machines.kind")}
            value={form.kind}
            segments={kinds.map((value) => ({ value, label: t(`machines.kindOf.${value}`) }))}
            onChange={(kind) => set({ kind })}
          />
        )}
        <TextField
          label={t("machines.name")}
          autoFocus
          value={form.name}
          error={taken ?? at("name")}
          onChange={(name) => set({ name })}
        />
        {form.kind === "ssh" && (
          <SshFields
            form={form}
            onChange={set}
            at={at}
            optionsError={inLines("ssh.options", sent?.ssh?.options)}
          />
        )}
        {form.kind === "container" && (
          <ContainerFields
            form={form}
            onChange={set}
            at={at}
            mountsError={inLines("container.mounts", mountLines(form.mounts))}
          />
        )}
        {form.kind === "kubernetes" && (
          <KubernetesFields
            form={form}
            onChange={set}
            at={at}
            resourcesError={otherResources || undefined}
            tolerationsError={inLines("kubernetes.tolerations", sent?.kubernetes?.tolerations)}
          />
        )}
        {form.kind === "slurm" ? (
          <SlurmFields form={form} onChange={set} at={at} folder={folder} />
        ) : (
          folder
        )}
        <div className={styles.pair}>
          <TextArea
            label={t("machines.labels")}
            hint={t("machines.labelsHint")}
            rows={2}
            value={form.labels}
            error={inLines("labels", sent?.labels)}
            onChange={(labels) => set({ labels })}
          />
          <NumberField
            label={t("machines.runs")}
            placeholder={t("machines.noLimit")}
            value={form.runs}
            error={at("caps.runs")}
            onChange={(runs) => set({ runs })}
          />
        </div>
        <div className={styles.pair}>
          <NumberField
            label={t("machines.runsPerDay")}
            hint={t("machines.runsPerDayHint")}
            placeholder={t("machines.noLimit")}
            value={form.runsPerDay}
            error={at("quota.runs_per_day")}
            onChange={(runsPerDay) => set({ runsPerDay })}
          />
          <TextField
            label={t("machines.costPerDay")}
            hint={t("machines.costPerDayHint")}
            inputMode="decimal"
            placeholder={t("machines.noLimit")}
            suffix="$"
            value={form.costPerDay}
            error={at("quota.micro_usd_per_day")}
            onChange={(text) => set({ costPerDay: dollars(text) })}
          />
        </div>
      </Stack>
    </Dialog>
  );
}
