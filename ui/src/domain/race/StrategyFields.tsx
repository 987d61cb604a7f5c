/** Who races, and how each goes about it. */
import { Plus, X } from "lucide-react";
import { useTranslation } from "react-i18next";
import { useOp } from "#ui/api/client.ts";
import type { ApiError } from "#ui/api/error.ts";
import { findingAt } from "#ui/api/findings.ts";
import { Avatar } from "#ui/components/Avatar.tsx";
import { Button } from "#ui/components/Button.tsx";
import { IconButton } from "#ui/components/IconButton.tsx";
import { Select } from "#ui/components/Select.tsx";
import { TextField } from "#ui/components/TextField.tsx";
import { nextRow, type StrategyRow } from "./strategies.ts";
import layout from "#ui/components/layout.module.css";
import styles from "./Race.module.css";

export interface StrategyFieldsProps {
  readonly rows: readonly StrategyRow[];
  readonly onChange: (rows: readonly StrategyRow[]) => void;
  readonly error: ApiError | null;
  /** Where the list is in what is sent, as findings name it. */
  readonly path: string;
}

export function StrategyFields({ rows, onChange, error, path }: StrategyFieldsProps) {
  const { t } = useTranslation();
  const agents = useOp("agent_list", {}).data?.items ?? [];
  const set = (index: number, change: Partial<StrategyRow>) =>
    onChange(rows.map((row, at) => (at === index ? { ...row, ...change } : row)));
  const inRows = rows.some((_, index) => findingAt(error, `${path}[${index}]`));
  const wrong = inRows ? undefined : findingAt(error, path);
  return (
    <>
      {rows.length > 0 && (
        <ol className={styles.strategies}>
          {rows.map((row, index) => {
            const at = `${path}[${index}]`;
            const name = row.name || t("race.strategy", { number: index + 1 });
            const gone = agents.length > 0 && agents.every(({ id }) => id !== row.agent);
            return (
              <li key={index} className={styles.strategy}>
                <div className={styles.main}>
                  <TextField
                    label={t("race.name")}
                    mono
                    value={row.name}
                    error={findingAt(error, `${at}.name`)}
                    onChange={(text) => set(index, { name: text })}
                  />
                  <Select
                    label={t("race.agent")}
                    value={row.agent}
                    placeholder={t("race.agentGone")}
                    error={
                      findingAt(error, `${at}.agent_id`) ?? (gone ? t("race.agentGone") : undefined)
                    }
                    options={agents.map((agent) => ({
                      value: agent.id,
                      label: agent.name,
                      icon: <Avatar name={agent.name} size={16} />,
                      ...(agent.paused ? { note: t("agents.paused") } : {}),
                    }))}
                    onChange={(agent) => set(index, { agent })}
                  />
                  <TextField
                    label={t("race.model")}
                    placeholder={t("race.modelPlaceholder")}
                    value={row.model}
                    error={findingAt(error, `${at}.model`)}
                    onChange={(model) => set(index, { model })}
                  />
                  <TextField
                    label={t("race.effort")}
                    placeholder={t("race.effortPlaceholder")}
                    value={row.effort}
                    error={findingAt(error, `${at}.effort`)}
                    onChange={(effort) => set(index, { effort })}
                  />
                  <IconButton
                    size="sm"
                    label={t("race.removeStrategy", { name })}
                    icon={<X />}
                    onClick={() => onChange(rows.filter((_, place) => place !== index))}
                  />
                </div>
                <TextField
                  label={t("race.suffixOf", { name })}
                  hideLabel
                  placeholder={t("race.suffixPlaceholder")}
                  value={row.suffix}
                  error={findingAt(error, `${at}.prompt_suffix`)}
                  onChange={(suffix) => set(index, { suffix })}
                />
              </li>
            );
          })}
        </ol>
      )}
      {wrong && <span className={layout.error}>{wrong}</span>}
      <div>
        <Button
          size="sm"
          variant="ghost"
          flush
          icon={<Plus />}
          onClick={() => onChange([...rows, nextRow(rows, agents)])}
        >
          {t("race.addStrategy")}
        </Button>
      </div>
    </>
  );
}
