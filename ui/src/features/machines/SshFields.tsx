import { useTranslation } from "react-i18next";
import { NumberField } from "#ui/components/NumberField.tsx";
import { Said } from "#ui/components/Said.tsx";
import { TextArea, TextField } from "#ui/components/TextField.tsx";
import type { MachineForm } from "./form.ts";
import styles from "./MachinesScreen.module.css";

/** How a machine is reached by ssh. */
export function SshFields({
  form,
  onChange,
  at,
  optionsError,
}: {
  form: MachineForm;
  onChange: (change: Partial<MachineForm>) => void;
  /** What is wrong with a field. */
  at: (field: string) => string | undefined;
  optionsError: string | undefined;
}) {
  const { t } = useTranslation();
  return (
    <>
      <TextField
        label={t("machines.host")}
        placeholder={t("machines.hostHint")}
        mono
        value={form.host}
        error={at("ssh.host")}
        onChange={(host) => onChange({ host })}
      />
      <div className={styles.pair}>
        <TextField
          label={t("machines.user")}
          mono
          value={form.user}
          error={at("ssh.user")}
          onChange={(user) => onChange({ user })}
        />
        <NumberField
          label={t("machines.port")}
          value={form.port}
          error={at("ssh.port")}
          onChange={(port) => onChange({ port })}
        />
      </div>
      <TextField
        label={t("machines.identityFile")}
        mono
        value={form.identityFile}
        error={at("ssh.identity_file")}
        onChange={(identityFile) => onChange({ identityFile })}
      />
      <TextArea
        label={t("machines.options")}
        hint={<Said text={t("machines.optionsHint")} />}
        mono
        rows={2}
        value={form.options}
        error={optionsError}
        onChange={(options) => onChange({ options })}
      />
    </>
  );
}
