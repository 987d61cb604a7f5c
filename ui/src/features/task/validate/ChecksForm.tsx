/** What is to be checked: commands and files, a line each, and who must export what others take. */
import { Plus, X } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import type { ContractPair } from "#ui/api/generated.ts";
import { Button } from "#ui/components/Button.tsx";
import { IconButton } from "#ui/components/IconButton.tsx";
import { TextArea, TextField } from "#ui/components/TextField.tsx";
import type { Draft } from "./validate.ts";
import styles from "./Validate.module.css";

interface ContractsProps {
  readonly contracts: readonly ContractPair[];
  readonly onChange: (contracts: readonly ContractPair[]) => void;
}

function Contracts({ contracts, onChange }: ContractsProps) {
  const { t } = useTranslation();
  const set = (index: number, change: Partial<ContractPair>) =>
    onChange(contracts.map((pair, at) => (at === index ? { ...pair, ...change } : pair)));
  return (
    <fieldset className={styles.contracts}>
      <legend>{t("validate.contracts")}</legend>
      {contracts.map((pair, index) => (
        // A pair has no name of its own, and the list only grows at its end.
        // oxlint-disable-next-line react/no-array-index-key
        <div key={index} className={styles.pair}>
          <TextField
            label={t("validate.importer", { count: index + 1 })}
            hideLabel
            mono
            placeholder={t("validate.importerHint")}
            value={pair.importer}
            onChange={(importer) => set(index, { importer })}
          />
          <span className={styles.takes}>{t("validate.takesFrom")}</span>
          <TextField
            label={t("validate.exporter", { count: index + 1 })}
            hideLabel
            mono
            placeholder={t("validate.exporterHint")}
            value={pair.exporter}
            onChange={(exporter) => set(index, { exporter })}
          />
          <IconButton
            label={t("validate.removeContract", { count: index + 1 })}
            icon={<X />}
            size="sm"
            onClick={() => onChange(contracts.filter((_, at) => at !== index))}
          />
        </div>
      ))}
      <Button
        size="sm"
        variant="ghost"
        flush
        icon={<Plus />}
        onClick={() => onChange([...contracts, { exporter: "", importer: "" }])}
      >
        {t("validate.addContract")}
      </Button>
    </fieldset>
  );
}

export interface ChecksFormProps {
  readonly first: Draft;
  readonly busy: boolean;
  readonly onRun: (draft: Draft) => void;
  /** Absent where there is nothing to go back to. */
  readonly onCancel?: () => void;
}

export function ChecksForm({ first, busy, onRun, onCancel }: ChecksFormProps) {
  const { t } = useTranslation();
  const [draft, setDraft] = useState(first);
  const { commands, files, contracts } = draft;
  return (
    <form
      className={styles.form}
      onSubmit={(event) => {
        event.preventDefault();
        onRun(draft);
      }}
    >
      <TextArea
        label={t("validate.commands")}
        hint={t("validate.commandsHint")}
        mono
        rows={3}
        value={commands}
        onChange={(next) => setDraft({ ...draft, commands: next })}
      />
      <TextArea
        label={t("validate.files")}
        hint={t("validate.filesHint")}
        mono
        rows={2}
        value={files}
        onChange={(next) => setDraft({ ...draft, files: next })}
      />
      <Contracts
        contracts={contracts}
        onChange={(next) => setDraft({ ...draft, contracts: next })}
      />
      <div className={styles.buttons}>
        <Button type="submit" variant="primary" busy={busy}>
          {t("validate.run")}
        </Button>
        {onCancel && (
          <Button variant="ghost" disabled={busy} onClick={onCancel}>
            {t("action.cancel")}
          </Button>
        )}
      </div>
    </form>
  );
}
