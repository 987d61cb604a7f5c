import { useState } from "react";
import { useTranslation } from "react-i18next";
import type { LifecycleEvent, LifecycleHook } from "#ui/api/generated.ts";
import { NumberField } from "#ui/components/NumberField.tsx";
import { Select } from "#ui/components/Select.tsx";
import { Switch } from "#ui/components/Switch.tsx";
import { TextArea, TextField } from "#ui/components/TextField.tsx";
import { formatJson, parseJson } from "#ui/draft/json.ts";
import { useField } from "./HooksContext.tsx";
import { defaultCodes, defaultTimeout, mayBlock, pluginsAt, readCodes } from "./hooks.ts";
import { Stack } from "#ui/components/Stack.tsx";
import styles from "./hooks.module.css";

type Script = Extract<LifecycleHook, { type: "script" }>;
type Plugin = Extract<LifecycleHook, { type: "plugin" }>;
interface FieldProps<Hook> {
  readonly event: LifecycleEvent;
  readonly index: number;
  readonly hook: Hook;
}

/** The list as it is typed; it is taken once it is one. */
function Codes({ event, index, hook }: FieldProps<Script>) {
  const { t } = useTranslation();
  const { place, error, set } = useField(event, index, "success_exit_codes");
  const codes = Array.isArray(hook.success_exit_codes) ? hook.success_exit_codes : defaultCodes;
  const [typed, setTyped] = useState<string | null>(null);
  const wrong = typed !== null && readCodes(typed) === null;
  return (
    <div data-path={place}>
      <TextField
        label={t("hooks.codes")}
        hint={t("hooks.codesHint")}
        value={typed ?? codes.join(", ")}
        error={wrong ? t("hooks.codesWrong") : error}
        onChange={(text) => {
          setTyped(text);
          const read = readCodes(text);
          if (read) set(read.length === 1 && read[0] === 0 ? undefined : read);
        }}
        onBlur={() => !wrong && setTyped(null)}
      />
    </div>
  );
}

/** Only where it can be; elsewhere only as long as the text says it, so that it can be taken away. */
function Blocking({ event, index, hook }: FieldProps<Script>) {
  const { t } = useTranslation();
  const { place, error, set } = useField(event, index, "blocking");
  if (!mayBlock(event) && !hook.blocking) return null;
  return (
    <Stack data-path={place} gap={1}>
      <Switch
        label={t("hooks.blocking")}
        hint={mayBlock(event) ? t("hooks.blockingHint") : t("hooks.blockingElsewhere")}
        checked={hook.blocking === true}
        onChange={(blocking) => set(blocking ? true : undefined)}
      />
      {error && <span className={styles.error}>{error}</span>}
    </Stack>
  );
}

function ScriptFields({ event, index, hook }: FieldProps<Script>) {
  const { t } = useTranslation();
  const command = useField(event, index, "command");
  const timeout = useField(event, index, "timeout_seconds");
  const seconds = typeof hook.timeout_seconds === "number" ? hook.timeout_seconds : null;
  return (
    <>
      <div data-path={command.place}>
        <TextArea
          mono
          rows={Math.min(12, Math.max(2, String(hook.command ?? "").split("\n").length))}
          label={t("hooks.command")}
          hint={t("hooks.commandHint")}
          autoFocus={hook.command === ""}
          spellCheck={false}
          value={String(hook.command ?? "")}
          error={command.error}
          onChange={command.set}
        />
      </div>
      <div className={styles.pair}>
        <div data-path={timeout.place}>
          <NumberField
            label={t("hooks.timeout")}
            suffix={t("hooks.seconds")}
            placeholder={String(defaultTimeout)}
            value={seconds}
            error={timeout.error}
            onChange={(next) => timeout.set(next ?? undefined)}
          />
        </div>
        <Codes event={event} index={index} hook={hook} />
      </div>
      <Blocking event={event} index={index} hook={hook} />
    </>
  );
}

/** Parameters as JSON; taken once they are. */
function Config({ event, index, hook }: FieldProps<Plugin>) {
  const { t } = useTranslation();
  const { place, error, set } = useField(event, index, "config");
  const [typed, setTyped] = useState<string | null>(null);
  const shown =
    hook.config === undefined || hook.config === null ? "" : formatJson(hook.config, 60).trimEnd();
  const parsed = typed !== null && typed.trim() !== "" ? parseJson(typed) : null;
  const problem =
    parsed && !parsed.ok
      ? t("hooks.configWrong", {
          line: parsed.error.line,
          column: parsed.error.column,
          what: t(`draft.expected.${parsed.error.expected}`),
        })
      : undefined;
  return (
    <div data-path={place}>
      <TextArea
        mono
        rows={2}
        label={t("hooks.config")}
        hint={t("hooks.configHint")}
        value={typed ?? shown}
        error={problem ?? error}
        onChange={(text) => {
          setTyped(text);
          const read = parseJson(text);
          if (text.trim() === "") set(undefined);
          else if (read.ok) set(read.value);
        }}
        onBlur={() => !problem && setTyped(null)}
      />
    </div>
  );
}

function PluginFields({ event, index, hook }: FieldProps<Plugin>) {
  const { t } = useTranslation();
  const name = useField(event, index, "name");
  const enabled = useField(event, index, "enabled");
  const known = pluginsAt[event];
  const all = known.includes(hook.name) ? known : [...known, hook.name];
  return (
    <>
      <div data-path={name.place}>
        <Select
          label={t("hooks.name")}
          value={hook.name}
          error={name.error}
          options={all.map((value) => ({
            value,
            label: t(`actions.${value}.name`, { defaultValue: value }),
            note: t(`actions.${value}.about`, { defaultValue: "" }),
          }))}
          onChange={name.set}
        />
      </div>
      <div data-path={enabled.place}>
        <Switch
          label={t("hooks.enabled")}
          checked={hook.enabled !== false}
          onChange={(on) => enabled.set(on ? undefined : false)}
        />
        {enabled.error && <span className={styles.error}>{enabled.error}</span>}
      </div>
      <Config event={event} index={index} hook={hook} />
    </>
  );
}

export function HookFields({ event, index, hook }: FieldProps<LifecycleHook>) {
  return hook.type === "script" ? (
    <ScriptFields event={event} index={index} hook={hook} />
  ) : (
    <PluginFields event={event} index={index} hook={hook} />
  );
}
