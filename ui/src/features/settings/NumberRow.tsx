/** A row with a number that is saved by itself. A number that is refused gives way to the saved one. */
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { Button } from "#ui/components/Button.tsx";
import { NumberField } from "#ui/components/NumberField.tsx";
import { showToast } from "#ui/components/Toast.tsx";
import { Row } from "./Section.tsx";
import styles from "./SettingsScreen.module.css";

export interface NumberRowProps {
  readonly label: string;
  /** Name of the field, where the label of the row does not say what is counted. */
  readonly fieldLabel?: string;
  readonly hint: string;
  readonly saved: number | null;
  readonly save: (
    value: number,
    refused: { readonly onError: (error: { readonly message: string }) => void },
  ) => void;
}

export function NumberRow({ label, fieldLabel = label, hint, saved, save }: NumberRowProps) {
  const { t } = useTranslation();
  const [value, setValue] = useState<number | null>(saved);
  const onError = ({ message }: { readonly message: string }) => {
    setValue(saved);
    showToast({ tone: "danger", title: t("settings.notSaved"), detail: message });
  };
  return (
    <Row label={label} hint={hint}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (value !== null) save(value, { onError });
        }}
      >
        <span className={styles.actions}>
          <NumberField label={fieldLabel} hideLabel value={value} onChange={setValue} />
          <Button type="submit" disabled={value === null || value === saved}>
            {t("settings.save")}
          </Button>
        </span>
      </form>
    </Row>
  );
}
