/** What runs may cost, and what models cost where Forge's own prices are not right. */
import { Plus, X } from "lucide-react";
import { useId } from "react";
import { useTranslation } from "react-i18next";
import { findingAt } from "#ui/api/findings.ts";
import type { ModelPrice } from "#ui/api/generated.ts";
import { Button } from "#ui/components/Button.tsx";
import { IconButton } from "#ui/components/IconButton.tsx";
import { TextField } from "#ui/components/TextField.tsx";
import { costFields } from "./fields.ts";
import { Fields } from "./Fields.tsx";
import { Frame } from "./Setting.tsx";
import { useSettings } from "./settingsContext.ts";
import {
  emptyRow,
  priceFields,
  pricesPatch,
  rowsOf,
  typedDollars,
  wrongIn,
  type PriceField,
  type PriceRow,
} from "./prices.ts";
import { useEdited } from "./useEdited.ts";
import { Stack } from "#ui/components/Stack.tsx";
import layout from "#ui/components/layout.module.css";
import styles from "./settings.module.css";

const path = "model_prices";

function Prices() {
  const { t } = useTranslation();
  const { view, error } = useSettings();
  const id = useId();
  const prices: Readonly<Record<string, ModelPrice>> = view.settings.model_prices ?? {};
  const { typed: rows, set: setRows } = useEdited<readonly PriceRow[]>({
    path,
    shown: rowsOf(prices),
    said: (next) => pricesPatch(prices, next),
    isWrong: (next) => wrongIn(next) !== null,
  });
  const wrong = wrongIn(rows);
  const label = t("costs.prices");
  const set = (index: number, change: (row: PriceRow) => PriceRow) =>
    setRows(rows.map((row, at) => (at === index ? change(row) : row)));
  const cell = (row: PriceRow, index: number, field: PriceField) => (
    <td key={field}>
      <TextField
        label={t("costs.priceOf", {
          model: row.model || t("costs.rowNumber", { number: index + 1 }),
          what: t(`costs.price.${field}`),
        })}
        hideLabel
        inputMode="decimal"
        placeholder={field.startsWith("cache") ? t("costs.asInput") : ""}
        value={row.prices[field]}
        error={findingAt(error, `${path}.${row.model.trim()}.${field}`)}
        onChange={(text) =>
          set(index, (before) => ({
            ...before,
            prices: { ...before.prices, [field]: typedDollars(text) },
          }))
        }
      />
    </td>
  );
  const inRows = rows.some(({ model }) => findingAt(error, `${path}.${model.trim()}`));
  return (
    <Frame path={path} label={label}>
      <Stack gap={2} role="group" aria-labelledby={id}>
        <span id={id} className={styles.label}>
          {label}
        </span>
        <span className={layout.note}>{t("costs.pricesHint")}</span>
        {rows.length > 0 && (
          <table className={styles.prices}>
            <thead>
              <tr>
                <th scope="col">{t("costs.model")}</th>
                {priceFields.map((field) => (
                  <th key={field} scope="col">
                    {t(`costs.price.${field}`)}
                  </th>
                ))}
                <th scope="col">
                  <span className="visually-hidden">{t("costs.actions")}</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {rows.map((row, index) => (
                <tr key={index}>
                  <td>
                    <TextField
                      label={t("costs.modelOf", { number: index + 1 })}
                      hideLabel
                      mono
                      value={row.model}
                      onChange={(model) => set(index, (before) => ({ ...before, model }))}
                    />
                  </td>
                  {priceFields.map((field) => cell(row, index, field))}
                  <td>
                    <IconButton
                      size="sm"
                      label={t("costs.removePrice", { number: index + 1 })}
                      icon={<X />}
                      onClick={() => setRows(rows.filter((_, at) => at !== index))}
                    />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        )}
        {wrong && <span className={styles.error}>{t(`costs.wrong.${wrong}`)}</span>}
        {!inRows && findingAt(error, path) && (
          <span className={styles.error}>{findingAt(error, path)}</span>
        )}
        <div className={styles.buttons}>
          <Button
            size="sm"
            variant="ghost"
            flush
            icon={<Plus />}
            onClick={() => setRows([...rows, emptyRow])}
          >
            {t("costs.addPrice")}
          </Button>
        </div>
      </Stack>
    </Frame>
  );
}

export function Costs() {
  return (
    <>
      <Fields fields={costFields} />
      <div className={styles.card}>
        <Prices />
      </div>
    </>
  );
}
