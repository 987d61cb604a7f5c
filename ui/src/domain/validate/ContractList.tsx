/** Which file takes names from which: pairs that a list grows by. */
import { Plus, X } from "lucide-react";
import { useTranslation } from "react-i18next";
import type { ContractPair } from "#ui/api/generated.ts";
import { Button } from "#ui/components/Button.tsx";
import { IconButton } from "#ui/components/IconButton.tsx";
import { TextField } from "#ui/components/TextField.tsx";
import layout from "#ui/components/layout.module.css";
import styles from "./ContractList.module.css";

export interface ContractListProps {
  readonly contracts: readonly ContractPair[];
  readonly onChange: (contracts: readonly ContractPair[]) => void;
}

export function ContractList({ contracts, onChange }: ContractListProps) {
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
          <span className={layout.note}>{t("validate.takesFrom")}</span>
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
