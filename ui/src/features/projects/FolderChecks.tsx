/** Checks that the files of a folder imply, for whoever adds it as a project: none is used unless it is ticked. */
import { useTranslation } from "react-i18next";
import type { CheckOffer } from "#ui/api/generated.ts";
import { Checkbox } from "#ui/components/Checkbox.tsx";
import layout from "#ui/components/layout.module.css";
import styles from "./projects.module.css";

export interface FolderChecksProps {
  readonly offers: readonly CheckOffer[];
  readonly chosen: ReadonlySet<string>;
  readonly onChange: (chosen: ReadonlySet<string>) => void;
}

export function FolderChecks({ offers, chosen, onChange }: FolderChecksProps) {
  const { t } = useTranslation();
  if (offers.length === 0) return null;
  const set = (command: string, isChosen: boolean) => {
    const next = new Set(chosen);
    if (isChosen) next.add(command);
    else next.delete(command);
    onChange(next);
  };
  return (
    <fieldset className={styles.checks}>
      <legend>{t("projects.offers")}</legend>
      <p className={layout.note}>{t("projects.offersHint")}</p>
      {offers.map(({ command, source }) => (
        <Checkbox
          key={command}
          label={command}
          hint={t("projectSettings.offerBy", { source })}
          checked={chosen.has(command)}
          onChange={(isChosen) => set(command, isChosen)}
        />
      ))}
    </fieldset>
  );
}
