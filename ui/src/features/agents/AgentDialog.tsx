import { useState, type FormEvent } from "react";
import { useTranslation } from "react-i18next";
import { useOp, useOpMutation } from "#ui/api/client.ts";
import { findingAt, restOf } from "#ui/api/findings.ts";
import type { AdapterKind, Agent } from "#ui/api/generated.ts";
import { RunsOnField } from "#ui/domain/machines/RunsOnField.tsx";
import { Banner } from "#ui/components/Banner.tsx";
import { Button } from "#ui/components/Button.tsx";
import { Dialog } from "#ui/components/Dialog.tsx";
import { SegmentedControl } from "#ui/components/SegmentedControl.tsx";
import { TextArea, TextField } from "#ui/components/TextField.tsx";
import { Limits } from "./Limits.tsx";
import { Probe } from "./Probe.tsx";
import { ProgramFields } from "./ProgramFields.tsx";
import { SandboxField } from "./SandboxField.tsx";
import { ShellFields } from "./ShellFields.tsx";
import {
  createInput,
  formOf,
  isComplete,
  startForm,
  updateInput,
  wrongEnvLine,
  type AgentForm,
} from "./form.ts";
import { Stack } from "#ui/components/Stack.tsx";
import styles from "./AgentsScreen.module.css";

const configFields = [
  "command",
  "program",
  "args",
  "env",
  "environment.pass",
  "effort",
  "permissions",
  "sandbox",
  "machines",
  "prompt_prefix",
  "wall_clock_seconds",
  "silence_seconds",
  "turns",
  "cost_micro_usd",
];
const fields = ["name", "model", "max_concurrent", ...configFields.map((key) => `config.${key}`)];
const adapters: readonly AdapterKind[] = ["codex", "claude", "acp", "shell"];
const formId = "agent-form";

export interface FieldsProps {
  readonly form: AgentForm;
  readonly set: (change: Partial<AgentForm>) => void;
  /** What the engine says about a field of the configuration. */
  readonly at: (field: string) => string | undefined;
}

/** A profile: added without `agent`, changed with it. */
export function AgentDialog({ agent, onClose }: { agent: Agent | null; onClose: () => void }) {
  const { t } = useTranslation();
  const known = useOp("agent_known", {}, { enabled: !agent }).data?.items;
  // Until something is typed, a new agent is one for a program that is installed.
  const [typed, setTyped] = useState(agent ? formOf(agent) : null);
  const form = typed ?? startForm(known ?? []);
  const [checked, setChecked] = useState(false);
  const create = useOpMutation("agent_create", { onSuccess: onClose });
  const update = useOpMutation("agent_update", { onSuccess: onClose });
  const { error, isPending } = agent ? update : create;
  const set = (change: Partial<AgentForm>) =>
    setTyped((before) => ({ ...(before ?? form), ...change }));
  const wrongLine = wrongEnvLine(form.env);
  const at = (field: string) => findingAt(error, `config.${field}`);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    setChecked(true);
    if (wrongLine !== null) return;
    if (agent) update.mutate(updateInput(agent, form));
    else create.mutate(createInput(form));
  };
  const rest = restOf(error, fields);
  return (
    <Dialog
      open
      size="lg"
      onOpenChange={(open) => !open && onClose()}
      title={agent ? t("agents.editTitle", { name: agent.name }) : t("agents.addTitle")}
      description={t(`agents.about.${form.adapter}`)}
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
            {agent ? t("agents.save") : t("agents.addAction")}
          </Button>
        </>
      }
    >
      <Stack id={formId} as="form" gap={4} onSubmit={submit}>
        {rest && (
          <Banner tone="danger" title={t("agents.notSaved")}>
            {rest}
          </Banner>
        )}
        {/* How a profile is driven is what it is: another adapter is another profile. */}
        {!agent && (
          <div className={styles.mode}>
            <SegmentedControl
              label={t("agents.adapter")}
              value={form.adapter}
              segments={adapters.map((value) => ({ value, label: t(`agents.adapters.${value}`) }))}
              onChange={(adapter) => set({ adapter })}
            />
          </div>
        )}
        <TextField
          label={t("agents.name")}
          autoFocus
          value={form.name}
          error={findingAt(error, "name")}
          onChange={(name) => set({ name })}
        />
        {form.adapter === "shell" ? (
          <ShellFields form={form} set={set} at={at} fresh={!agent} />
        ) : (
          <ProgramFields form={form} set={set} at={at} modelError={findingAt(error, "model")} />
        )}
        <SandboxField form={form} set={set} at={at} />
        <RunsOnField
          value={form.machines}
          inherited={{ from: t("runsOn.fromProject"), labels: null }}
          error={at("machines")}
          onChange={(machines) => set({ machines })}
        />
        <Probe form={form} />
        <TextArea
          label={t("agents.prefix")}
          hint={t("agents.prefixHint")}
          rows={2}
          value={form.prefix}
          error={at("prompt_prefix")}
          onChange={(prefix) => set({ prefix })}
        />
        <TextArea
          label={t("agents.env")}
          hint={t("agents.envHint")}
          mono
          rows={2}
          value={form.env}
          error={
            checked && wrongLine !== null ? t("agents.envWrong", { line: wrongLine }) : at("env")
          }
          onChange={(env) => set({ env })}
        />
        <TextArea
          label={t("agents.pass")}
          hint={t("agents.passHint")}
          mono
          rows={2}
          value={form.pass}
          error={at("environment.pass")}
          onChange={(pass) => set({ pass })}
        />
        <Limits
          form={form}
          set={set}
          at={at}
          concurrentError={findingAt(error, "max_concurrent")}
        />
      </Stack>
    </Dialog>
  );
}
