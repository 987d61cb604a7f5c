import { useState, type FormEvent } from "react";
import { useTranslation } from "react-i18next";
import { useOpMutation } from "#ui/api/client.ts";
import { findingAt, restOf } from "#ui/api/findings.ts";
import type { Agent } from "#ui/api/generated.ts";
import { Banner } from "#ui/components/Banner.tsx";
import { Button } from "#ui/components/Button.tsx";
import { Dialog } from "#ui/components/Dialog.tsx";
import { SegmentedControl } from "#ui/components/SegmentedControl.tsx";
import { TextArea, TextField } from "#ui/components/TextField.tsx";
import { configOf, createInput, emptyForm, examples, formOf, wrongEnvLine } from "./form.ts";
import styles from "./AgentsScreen.module.css";

const fields = [
  "name",
  "config",
  "max_concurrent",
  "command",
  "args",
  "env",
  "wall_clock_seconds",
  "silence_seconds",
];
const formId = "agent-form";

/** A profile: added without `agent`, changed with it. */
export function AgentDialog({ agent, onClose }: { agent: Agent | null; onClose: () => void }) {
  const { t } = useTranslation();
  const [form, setForm] = useState(agent ? formOf(agent) : emptyForm);
  const [checked, setChecked] = useState(false);
  const create = useOpMutation("agent_create", { onSuccess: onClose });
  const update = useOpMutation("agent_update", { onSuccess: onClose });
  const { error, isPending } = agent ? update : create;
  const set = (change: Partial<typeof form>) => setForm({ ...form, ...change });
  const wrongLine = wrongEnvLine(form.env);
  const at = (field: string) => findingAt(error, `config.${field}`) ?? findingAt(error, field);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    setChecked(true);
    if (wrongLine !== null) return;
    if (!agent) create.mutate(createInput(form));
    else {
      update.mutate({
        agent_id: agent.id,
        name: form.name.trim(),
        config: configOf(form),
        max_concurrent: Number(form.maxConcurrent),
      });
    }
  };
  const rest = restOf(error, fields);
  return (
    <Dialog
      open
      size="lg"
      onOpenChange={(open) => !open && onClose()}
      title={agent ? t("agents.editTitle", { name: agent.name }) : t("agents.addTitle")}
      description={t("agents.explain")}
      actions={
        <>
          <Button onClick={onClose}>{t("action.cancel")}</Button>
          <Button
            type="submit"
            form={formId}
            variant="primary"
            busy={isPending}
            disabled={form.name.trim() === "" || form.command.trim() === ""}
          >
            {agent ? t("agents.save") : t("agents.addAction")}
          </Button>
        </>
      }
    >
      <form id={formId} className={styles.form} onSubmit={submit}>
        {rest && (
          <Banner tone="danger" title={t("agents.notSaved")}>
            {rest}
          </Banner>
        )}
        {!agent && (
          <div className={styles.examples}>
            <span>{t("agents.examples")}</span>
            {examples.map(({ name, command }) => (
              <Button
                key={name}
                size="sm"
                onClick={() => set({ name: form.name || name, command, mode: "line" })}
              >
                {name}
              </Button>
            ))}
          </div>
        )}
        <TextField
          label={t("agents.name")}
          autoFocus
          value={form.name}
          error={findingAt(error, "name")}
          onChange={(name) => set({ name })}
        />
        <div className={styles.mode}>
          <SegmentedControl
            label={t("agents.mode")}
            value={form.mode}
            segments={[
              { value: "line", label: t("agents.line") },
              { value: "program", label: t("agents.program") },
            ]}
            onChange={(mode) => set({ mode })}
          />
        </div>
        <TextField
          label={form.mode === "line" ? t("agents.line") : t("agents.program")}
          hint={t(form.mode === "line" ? "agents.lineHint" : "agents.programHint")}
          mono
          value={form.command}
          error={at("command")}
          onChange={(command) => set({ command })}
        />
        {form.mode === "program" && (
          <TextArea
            label={t("agents.args")}
            hint={t("agents.argsHint")}
            mono
            value={form.args}
            error={at("args")}
            onChange={(args) => set({ args })}
          />
        )}
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
        <div className={styles.limits}>
          <TextField
            label={t("agents.wallClock")}
            inputMode="numeric"
            placeholder="3600"
            suffix={t("agents.seconds")}
            value={form.wallClock}
            error={at("wall_clock_seconds")}
            onChange={(wallClock) => set({ wallClock: wallClock.replaceAll(/\D/g, "") })}
          />
          <TextField
            label={t("agents.silence")}
            inputMode="numeric"
            placeholder="600"
            suffix={t("agents.seconds")}
            value={form.silence}
            error={at("silence_seconds")}
            onChange={(silence) => set({ silence: silence.replaceAll(/\D/g, "") })}
          />
          <TextField
            label={t("agents.maxConcurrent")}
            inputMode="numeric"
            value={form.maxConcurrent}
            error={findingAt(error, "max_concurrent")}
            onChange={(value) => set({ maxConcurrent: value.replaceAll(/\D/g, "") })}
          />
        </div>
      </form>
    </Dialog>
  );
}
