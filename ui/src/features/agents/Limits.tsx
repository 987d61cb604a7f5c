import { useTranslation } from "react-i18next";
import { TextField } from "#ui/components/TextField.tsx";
import type { FieldsProps } from "./AgentDialog.tsx";
import { digits, dollars } from "./form.ts";
import styles from "./AgentsScreen.module.css";

/** What one run of the agent may take, and how many may run. */
export function Limits({
  form,
  set,
  at,
  concurrentError,
}: FieldsProps & { concurrentError: string | undefined }) {
  const { t } = useTranslation();
  return (
    <div className={styles.limits} role="group" aria-label={t("agents.limits")}>
      <TextField
        label={t("agents.wallClock")}
        inputMode="numeric"
        placeholder="3600"
        suffix={t("agents.seconds")}
        value={form.wallClock}
        error={at("wall_clock_seconds")}
        onChange={(text) => set({ wallClock: digits(text) })}
      />
      <TextField
        label={t("agents.silence")}
        inputMode="numeric"
        placeholder="600"
        suffix={t("agents.seconds")}
        value={form.silence}
        error={at("silence_seconds")}
        onChange={(text) => set({ silence: digits(text) })}
      />
      {form.adapter !== "shell" && (
        <TextField
          label={t("agents.turns")}
          inputMode="numeric"
          placeholder={t("agents.noLimit")}
          value={form.turns}
          error={at("turns")}
          onChange={(text) => set({ turns: digits(text) })}
        />
      )}
      <TextField
        label={t("agents.cost")}
        inputMode="decimal"
        placeholder={t("agents.noLimit")}
        suffix="$"
        value={form.cost}
        error={at("cost_micro_usd")}
        onChange={(text) => set({ cost: dollars(text) })}
      />
      <TextField
        label={t("agents.maxConcurrent")}
        inputMode="numeric"
        value={form.maxConcurrent}
        error={concurrentError}
        onChange={(text) => set({ maxConcurrent: digits(text) })}
      />
    </div>
  );
}
