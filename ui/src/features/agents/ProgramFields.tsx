import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useOp } from "#ui/api/client.ts";
import type { AgentModel } from "#ui/api/generated.ts";
import { Combobox } from "#ui/components/Combobox.tsx";
import { Select } from "#ui/components/Select.tsx";
import { TextArea, TextField } from "#ui/components/TextField.tsx";
import type { FieldsProps } from "./AgentDialog.tsx";
import { configOf, permissionModes, type PermissionMode } from "./form.ts";
import styles from "./AgentsScreen.module.css";

const none: readonly AgentModel[] = [];

/** The models that the program offers, and what is typed, which may be none of them. */
function Model({
  form,
  set,
  models,
  onAsk,
}: Pick<FieldsProps, "form" | "set"> & {
  models: readonly AgentModel[];
  onAsk: () => void;
}) {
  const { t } = useTranslation();
  const [typed, setTyped] = useState("");
  const known = models.map(({ id, name, is_default: first }) => ({
    value: id,
    label: id,
    note: first ? t("agents.modelDefault", { name }) : name,
  }));
  // A program takes models that it does not list, too.
  const own = [form.model, typed.trim()].filter(
    (id, index, all) =>
      id !== "" && all.indexOf(id) === index && known.every(({ value }) => value !== id),
  );
  const wanted = typed.toLocaleLowerCase();
  const shown = known.filter(
    ({ value, note }) =>
      typed === form.model || `${value} ${note}`.toLocaleLowerCase().includes(wanted),
  );
  return (
    <div onFocus={onAsk}>
      <Combobox
        label={t("agents.model")}
        value={form.model === "" ? null : form.model}
        placeholder={t("agents.modelHint")}
        options={[
          ...shown,
          ...own.map((id) => ({ value: id, label: id, note: t("agents.modelOwn") })),
        ]}
        onSearch={(text) => {
          setTyped(text);
          if (text === "") set({ model: "" });
        }}
        onChange={(model) => set({ model: model ?? "" })}
      />
    </div>
  );
}

const noEfforts: readonly string[] = [];

/** What the model offers; typed, where the program does not tell. */
function Effort({
  form,
  set,
  error,
  offered,
}: Pick<FieldsProps, "form" | "set"> & {
  error: string | undefined;
  offered: readonly string[];
}) {
  const { t } = useTranslation();
  const change = (effort: string) => set({ effort });
  if (offered.length === 0) {
    return (
      <TextField
        label={t("agents.effort")}
        placeholder={t("agents.effortHint")}
        value={form.effort}
        error={error}
        onChange={change}
      />
    );
  }
  // One that another model knew stays in sight until another is chosen.
  const own = form.effort === "" || offered.includes(form.effort) ? [] : [form.effort];
  return (
    <Select
      label={t("agents.effort")}
      value={form.effort}
      error={error}
      options={[
        { value: "", label: t("agents.effortHint") },
        ...[...offered, ...own].map((value) => ({ value, label: value })),
      ]}
      onChange={change}
    />
  );
}

/** A program with a protocol: Codex, Claude Code, or one that speaks ACP. */
export function ProgramFields({
  form,
  set,
  at,
  modelError,
}: FieldsProps & { modelError: string | undefined }) {
  const { t } = useTranslation();
  // The program is started for this: only once somebody looks at the list.
  const [asked, setAsked] = useState<unknown>(null);
  const answer = useOp(
    "agent_models",
    { adapter: form.adapter, config: asked },
    { enabled: asked !== null },
  );
  const ask = () => {
    const config = configOf(form);
    if (JSON.stringify(config) !== JSON.stringify(asked)) setAsked(config);
  };
  const models = answer.data?.models ?? none;
  const efforts = models.find(({ id, is_default: first }) =>
    form.model === "" ? first : id === form.model,
  )?.efforts;
  const problem =
    answer.error?.message ?? [answer.data?.problem, answer.data?.remedy].filter(Boolean).join(". ");
  return (
    <>
      <TextField
        label={t("agents.program")}
        hint={t(form.adapter === "acp" ? "agents.acpProgramHint" : "agents.ownProgramHint")}
        mono
        placeholder={form.adapter === "acp" ? "opencode" : form.adapter}
        value={form.program}
        error={at("program")}
        onChange={(program) => set({ program })}
      />
      <TextArea
        label={t("agents.args")}
        hint={t(form.adapter === "acp" ? "agents.acpArgsHint" : "agents.moreArgsHint")}
        mono
        rows={2}
        value={form.args}
        error={at("args")}
        onChange={(args) => set({ args })}
      />
      <div className={styles.pair}>
        <div>
          <Model form={form} set={set} models={models} onAsk={ask} />
          <p
            className={styles.fieldNote}
            role="status"
            data-wrong={modelError || problem ? true : undefined}
          >
            {modelError ?? (answer.isFetching ? t("agents.modelsAsked") : problem)}
          </p>
        </div>
        <Effort form={form} set={set} error={at("effort")} offered={efforts ?? noEfforts} />
      </div>
      <Select<PermissionMode>
        label={t("agents.permissions")}
        hint={t(`agents.permissionHints.${form.permissions}`)}
        value={form.permissions}
        error={at("permissions")}
        options={permissionModes.map((value) => ({
          value,
          label: t(`agents.permissionModes.${value}`),
          note: t(`agents.permissionHints.${value}`),
        }))}
        onChange={(permissions) => set({ permissions })}
      />
    </>
  );
}
