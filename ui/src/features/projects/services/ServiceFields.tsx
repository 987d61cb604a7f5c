/** The fields of one service; what the engine found stands at the field that it names. */
import { Plus, X } from "lucide-react";
import { useId } from "react";
import { useTranslation } from "react-i18next";
import type { Finding, ServiceStart } from "#ui/api/generated.ts";
import { Button } from "#ui/components/Button.tsx";
import { IconButton } from "#ui/components/IconButton.tsx";
import { NumberField } from "#ui/components/NumberField.tsx";
import { Select } from "#ui/components/Select.tsx";
import { Stack } from "#ui/components/Stack.tsx";
import { TextArea, TextField } from "#ui/components/TextField.tsx";
import { saidAt } from "#ui/draft/findings.ts";
import { formatPath, type Segment } from "#ui/draft/path.ts";
import layout from "#ui/components/layout.module.css";
import settings from "../settings.module.css";
import { envProblem, type EnvRow, type ReadyKind, type ServiceForm } from "./form.ts";
import { settingsKey } from "./useServicesDraft.ts";
import styles from "./services.module.css";

export interface ServiceFieldsProps {
  readonly index: number;
  readonly form: ServiceForm;
  readonly findings: readonly Finding[];
  readonly set: (change: Partial<ServiceForm>) => void;
}

const readyKinds: readonly ReadyKind[] = ["none", "http", "port", "pattern"];
const starts: readonly ServiceStart[] = ["manual", "on_review"];
/** Where a choice of how to tell readiness begins. */
const firstText: Readonly<Record<ReadyKind, string>> = {
  none: "",
  http: "/",
  port: "",
  pattern: "",
};

function useAt({ index, findings }: ServiceFieldsProps) {
  return (...field: readonly Segment[]) =>
    saidAt(findings, formatPath([settingsKey, index, ...field]));
}

function Ready(props: ServiceFieldsProps) {
  const { form, set } = props;
  const { t } = useTranslation();
  const at = useAt(props);
  const { ready } = form;
  const isTyped = ready === "http" || ready === "pattern";
  return (
    <>
      <div className={styles.pair}>
        <Select<ReadyKind>
          label={t("serviceSettings.ready")}
          value={ready}
          hint={t(`serviceSettings.readyHints.${ready}`)}
          error={isTyped ? undefined : at("ready")}
          options={readyKinds.map((kind) => ({
            value: kind,
            label: t(`serviceSettings.readyKinds.${kind}`),
          }))}
          onChange={(kind) => set({ ready: kind, readyText: firstText[kind] })}
        />
        {isTyped && (
          <TextField
            label={t(`serviceSettings.readyText.${ready}`)}
            mono
            value={form.readyText}
            error={at("ready")}
            onChange={(readyText) => set({ readyText })}
          />
        )}
      </div>
      <div className={styles.pair}>
        <NumberField
          label={t("serviceSettings.readySeconds")}
          hint={t("serviceSettings.readySecondsHint")}
          placeholder="120"
          suffix={t("serviceSettings.seconds")}
          value={form.readySeconds}
          error={at("ready_within_seconds")}
          onChange={(readySeconds) => set({ readySeconds })}
        />
        <NumberField
          label={t("serviceSettings.stopMinutes")}
          hint={t("serviceSettings.stopMinutesHint")}
          placeholder="60"
          suffix={t("serviceSettings.minutes")}
          value={form.stopMinutes}
          error={at("stop_after_minutes")}
          onChange={(stopMinutes) => set({ stopMinutes })}
        />
      </div>
    </>
  );
}

function Env(props: ServiceFieldsProps) {
  const { t } = useTranslation();
  const id = useId();
  const at = useAt(props);
  const { env } = props.form;
  const put = (next: readonly EnvRow[]) => props.set({ env: next });
  const change = (index: number, part: Partial<EnvRow>) =>
    put(env.map((row, each) => (each === index ? { ...row, ...part } : row)));
  const said = (row: EnvRow, index: number) => {
    const problem = envProblem(env, index);
    return problem ? t(`serviceSettings.${problem}`) : at("env", row.name.trim());
  };
  // A finding about the variables as a whole has no row.
  const atRows = env.some(({ name }) => at("env", name.trim()));
  return (
    <Stack gap={2} role="group" aria-labelledby={id}>
      <span id={id} className={settings.label}>
        {t("serviceSettings.env")}
      </span>
      <span className={layout.note}>{t("serviceSettings.envHint")}</span>
      {env.map((row, index) => (
        <div key={index} className={styles.variable}>
          <TextField
            label={t("serviceSettings.envName", { number: index + 1 })}
            hideLabel
            mono
            placeholder={t("serviceSettings.envNameShort")}
            value={row.name}
            error={said(row, index)}
            onChange={(name) => change(index, { name })}
          />
          <span aria-hidden className={styles.equals}>
            =
          </span>
          <TextField
            label={t("serviceSettings.envValue", { number: index + 1 })}
            hideLabel
            mono
            placeholder={t("serviceSettings.envValueShort")}
            value={row.value}
            onChange={(value) => change(index, { value })}
          />
          <IconButton
            size="sm"
            label={t("serviceSettings.removeVariable", { number: index + 1 })}
            icon={<X />}
            onClick={() => put(env.filter((_, each) => each !== index))}
          />
        </div>
      ))}
      {!atRows && at("env") && <span className={layout.error}>{at("env")}</span>}
      <div className={settings.buttons}>
        <Button
          size="sm"
          variant="ghost"
          flush
          icon={<Plus />}
          onClick={() => put([...env, { name: "", value: "" }])}
        >
          {t("projectSettings.addVariable")}
        </Button>
      </div>
    </Stack>
  );
}

export function ServiceFields(props: ServiceFieldsProps) {
  const { form, set } = props;
  const { t } = useTranslation();
  const at = useAt(props);
  return (
    <>
      <div className={styles.pair}>
        <TextField
          label={t("serviceSettings.name")}
          hint={t("serviceSettings.nameHint")}
          mono
          autoFocus={form.name === ""}
          value={form.name}
          error={at("name")}
          onChange={(name) => set({ name })}
        />
        <Select<ServiceStart>
          label={t("serviceSettings.start")}
          value={form.start}
          hint={t(`serviceSettings.startHints.${form.start}`)}
          error={at("start")}
          options={starts.map((value) => ({
            value,
            label: t(`serviceSettings.starts.${value}`),
          }))}
          onChange={(start) => set({ start })}
        />
      </div>
      <TextArea
        label={t("serviceSettings.command")}
        hint={t("serviceSettings.commandHint")}
        mono
        rows={Math.min(8, Math.max(2, form.command.split("\n").length))}
        spellCheck={false}
        value={form.command}
        error={at("command")}
        onChange={(command) => set({ command })}
      />
      <div className={styles.pair}>
        <TextField
          label={t("serviceSettings.cwd")}
          hint={t("serviceSettings.cwdHint")}
          mono
          placeholder={t("serviceSettings.cwdDefault")}
          value={form.cwd}
          error={at("cwd")}
          onChange={(cwd) => set({ cwd })}
        />
        <TextField
          label={t("serviceSettings.open")}
          hint={t("serviceSettings.openHint")}
          mono
          placeholder="/"
          value={form.open}
          error={at("open")}
          onChange={(open) => set({ open })}
        />
      </div>
      <Ready {...props} />
      <Env {...props} />
    </>
  );
}
