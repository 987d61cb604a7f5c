/** A table of settings, drawn: one field below the other. */
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { Select } from "#ui/components/Select.tsx";
import type { ChoiceField, Field, Key } from "./fields.ts";
import {
  AreaSetting,
  Frame,
  LinesSetting,
  SwitchSetting,
  TextSetting,
  type SettingProps,
} from "./Setting.tsx";
import { useSettings } from "./settingsContext.ts";
import { patchAt, valueAt } from "./settingsPath.ts";
import styles from "./settings.module.css";

function Choice({ field }: { field: ChoiceField }) {
  const { t } = useTranslation();
  const { view, patch, busy } = useSettings();
  const { path, options, usual } = field;
  const set = valueAt(view.settings, path);
  const chosen =
    options.find(({ value }) => value === set) ?? options.find(({ value }) => value === usual);
  const label = t(field.label);
  return (
    <Frame path={path} label={label}>
      <Select
        label={label}
        value={chosen?.value ?? null}
        disabled={busy}
        {...(chosen?.hint ? { hint: t(chosen.hint) } : {})}
        options={options.map(({ value, label, note }) => ({
          value,
          label: t(label),
          ...(note ? { note: t(note) } : {}),
        }))}
        onChange={(next) => patch(patchAt(path, next))}
      />
    </Frame>
  );
}

type One = Exclude<Field, { kind: "part" }>;

function One({ field }: { field: One }) {
  const { t } = useTranslation();
  const { path } = field;
  const named = (hint: Key | readonly Key[] | undefined): SettingProps => ({
    path,
    label: t(field.label),
    ...(hint
      ? {
          hint: [hint]
            .flat()
            .map((key) => t(key as Key))
            .join(" "),
        }
      : {}),
  });
  const words = (text: Key | { readonly text: string }) =>
    typeof text === "object" ? text.text : t(text);
  switch (field.kind) {
    case "switch":
      return <SwitchSetting {...named(field.hint)} />;
    case "area":
      return <AreaSetting {...named(field.hint)} />;
    case "lines":
      return (
        <LinesSetting
          {...named(field.hint)}
          add={t(field.add)}
          {...(field.of ? { of: field.of } : {})}
        />
      );
    case "choice":
      return <Choice field={field} />;
    case "text":
    case "number":
    case "decimal":
    case "dollars":
      return (
        <TextSetting
          {...named(field.hint)}
          kind={field.kind}
          {...(field.mono ? { mono: true } : {})}
          {...(field.placeholder ? { placeholder: words(field.placeholder) } : {})}
          {...(field.suffix ? { suffix: words(field.suffix) } : {})}
        />
      );
  }
}

export interface FieldsProps {
  readonly fields: readonly Field[];
  /** What stands where a field is a part. */
  readonly parts?: Readonly<Record<string, ReactNode>>;
}

export function Fields({ fields, parts }: FieldsProps) {
  const { view } = useSettings();
  return (
    <div className={styles.card}>
      {fields.map((field) =>
        field.kind === "part" ? (
          <Part key={field.part}>{parts?.[field.part]}</Part>
        ) : field.when?.(view.settings) === false ? null : (
          <One key={field.path} field={field} />
        ),
      )}
    </div>
  );
}

const Part = ({ children }: { children: ReactNode }) => children;
