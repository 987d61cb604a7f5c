/** What a review validates besides its commands: its last check, with a score that is kept over attempts. */
import { useTranslation } from "react-i18next";
import { findingAt } from "#ui/api/findings.ts";
import type { ContractPair } from "#ui/api/generated.ts";
import { ContractList } from "#ui/domain/validate/ContractList.tsx";
import { isComplete } from "#ui/domain/validate/contracts.ts";
import { validateFields } from "./fields.ts";
import { Fields } from "./Fields.tsx";
import { Frame } from "./Setting.tsx";
import { useSettings } from "./settingsContext.ts";
import { useEdited } from "./useEdited.ts";
import layout from "#ui/components/layout.module.css";
import styles from "./settings.module.css";

const contractsPath = "review_config.validate.contractChecks";

function Contracts() {
  const { t } = useTranslation();
  const { view, error } = useSettings();
  const problem = findingAt(error, contractsPath);
  const { typed: pairs, set } = useEdited<readonly ContractPair[]>({
    path: contractsPath,
    shown: view.settings.review_config?.validate?.contractChecks ?? [],
    said: (next) => {
      const whole = next.filter(isComplete);
      return whole.length > 0 ? whole : null;
    },
  });
  return (
    <Frame path={contractsPath} label={t("validate.contracts")}>
      <ContractList contracts={pairs} onChange={set} />
      {problem && <span className={styles.error}>{problem}</span>}
    </Frame>
  );
}

export function ValidateGate() {
  const { t } = useTranslation();
  return (
    <>
      <h2 className={styles.heading}>{t("validateGate.title")}</h2>
      <p className={layout.note}>{t("validateGate.text")}</p>
      <Fields fields={validateFields} parts={{ contracts: <Contracts /> }} />
    </>
  );
}
