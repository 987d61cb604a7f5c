import { useTranslation } from "react-i18next";
import { Button } from "#ui/components/Button.tsx";
import { SegmentedControl } from "#ui/components/SegmentedControl.tsx";
import { TextArea, TextField } from "#ui/components/TextField.tsx";
import type { FieldsProps } from "./AgentDialog.tsx";
import { examples } from "./form.ts";
import styles from "./AgentsScreen.module.css";

/** A command of one's own. */
export function ShellFields({ form, set, at, fresh }: FieldsProps & { fresh: boolean }) {
  const { t } = useTranslation();
  return (
    <>
      {fresh && (
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
    </>
  );
}
