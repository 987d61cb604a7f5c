import { useTranslation } from "react-i18next";
import { Select } from "#ui/components/Select.tsx";
import type { FieldsProps } from "./AgentDialog.tsx";
import { sandboxChoices, type SandboxChoice } from "./form.ts";

/** What the agent's runs can reach, whatever drives it. */
export function SandboxField({ form, set, at }: FieldsProps) {
  const { t } = useTranslation();
  return (
    <Select<SandboxChoice>
      label={t("agents.sandbox")}
      hint={t(`agents.sandboxHints.${form.sandbox}`)}
      value={form.sandbox}
      error={at("sandbox")}
      options={sandboxChoices.map((value) => ({
        value,
        label: t(`agents.sandboxModes.${value}`),
        note: t(`agents.sandboxHints.${value}`),
      }))}
      onChange={(sandbox) => set({ sandbox })}
    />
  );
}
