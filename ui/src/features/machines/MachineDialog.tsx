import { useState, type FormEvent } from "react";
import { useTranslation } from "react-i18next";
import { useOpMutation } from "#ui/api/client.ts";
import { findingAt, restOf } from "#ui/api/findings.ts";
import type { Machine } from "#ui/api/generated.ts";
import { Banner } from "#ui/components/Banner.tsx";
import { Button } from "#ui/components/Button.tsx";
import { Dialog } from "#ui/components/Dialog.tsx";
import { NumberField } from "#ui/components/NumberField.tsx";
import { Said } from "#ui/components/Said.tsx";
import { Stack } from "#ui/components/Stack.tsx";
import { TextArea, TextField } from "#ui/components/TextField.tsx";
import {
  createInput,
  defaultRoot,
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
  "root",
  "labels",
  "caps.runs",
];
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
  // The engine refuses a name that is taken as a whole; it is about that field all the same.
  const taken = error?.code === "name_taken" ? error.message : undefined;
  const rest = taken ? null : restOf(error, fields);
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
      description={t("machines.dialogText")}
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
        <TextField
          label={t("machines.name")}
          autoFocus
          value={form.name}
          error={taken ?? at("name")}
          onChange={(name) => set({ name })}
        />
        <TextField
          label={t("machines.host")}
          placeholder={t("machines.hostHint")}
          mono
          value={form.host}
          error={at("ssh.host")}
          onChange={(host) => set({ host })}
        />
        <div className={styles.pair}>
          <TextField
            label={t("machines.user")}
            mono
            value={form.user}
            error={at("ssh.user")}
            onChange={(user) => set({ user })}
          />
          <NumberField
            label={t("machines.port")}
            value={form.port}
            error={at("ssh.port")}
            onChange={(port) => set({ port })}
          />
        </div>
        <TextField
          label={t("machines.identityFile")}
          mono
          value={form.identityFile}
          error={at("ssh.identity_file")}
          onChange={(identityFile) => set({ identityFile })}
        />
        <TextArea
          label={t("machines.options")}
          hint={<Said text={t("machines.optionsHint")} />}
          mono
          rows={2}
          value={form.options}
          error={inLines("ssh.options", sent?.ssh?.options)}
          onChange={(options) => set({ options })}
        />
        <TextField
          label={t("machines.root")}
          hint={t("machines.rootHint")}
          placeholder={defaultRoot}
          mono
          value={form.root}
          error={at("root")}
          onChange={(root) => set({ root })}
        />
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
      </Stack>
    </Dialog>
  );
}
