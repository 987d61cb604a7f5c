/** What a review validates besides its commands: its last check, with a score that is kept over attempts. */
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { findingAt } from "#ui/api/findings.ts";
import type { ContractPair } from "#ui/api/generated.ts";
import { ContractList } from "#ui/domain/validate/ContractList.tsx";
import { isComplete } from "#ui/domain/validate/contracts.ts";
import { Button } from "#ui/components/Button.tsx";
import { validateFields } from "./fields.ts";
import { Fields } from "./Fields.tsx";
import { Frame, useSettings } from "./Setting.tsx";
import { patchAt } from "./settingsPath.ts";
import layout from "#ui/components/layout.module.css";
import styles from "./settings.module.css";

const contractsPath = "review_config.validate.contractChecks";

function Contracts({ saved }: { saved: readonly ContractPair[] }) {
  const { t } = useTranslation();
  const { patch, busy, error } = useSettings();
  const problem = findingAt(error, contractsPath);
  const [pairs, setPairs] = useState(saved);
  const wanted = pairs.filter(isComplete);
  const isChanged = JSON.stringify(wanted) !== JSON.stringify(saved);
  return (
    <Frame path={contractsPath} label={t("validate.contracts")}>
      <ContractList contracts={pairs} onChange={setPairs} />
      {problem && <span className={styles.error}>{problem}</span>}
      {isChanged && (
        <Button
          variant="primary"
          busy={busy}
          onClick={() => patch(patchAt(contractsPath, wanted.length > 0 ? wanted : null))}
        >
          {t("projectSettings.save")}
        </Button>
      )}
    </Frame>
  );
}

export function ValidateGate() {
  const { t } = useTranslation();
  const { view } = useSettings();
  const contracts = view.settings.review_config?.validate?.contractChecks ?? [];
  return (
    <>
      <h2 className={styles.label}>{t("validateGate.title")}</h2>
      <p className={layout.note}>{t("validateGate.text")}</p>
      <Fields
        fields={validateFields}
        parts={{ contracts: <Contracts key={JSON.stringify(contracts)} saved={contracts} /> }}
      />
    </>
  );
}
