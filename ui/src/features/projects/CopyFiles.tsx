import { ArrowDown, ArrowUp, Plus, X } from "lucide-react";
import { useId } from "react";
import { useTranslation } from "react-i18next";
import { findingAt } from "#ui/api/findings.ts";
import type { CopyFile, CopyMode } from "#ui/api/generated.ts";
import { Button } from "#ui/components/Button.tsx";
import { IconButton } from "#ui/components/IconButton.tsx";
import { Select } from "#ui/components/Select.tsx";
import { TextField } from "#ui/components/TextField.tsx";
import { moved } from "#ui/draft/path.ts";
import { Frame } from "./Setting.tsx";
import { useSettings } from "./settingsContext.ts";
import { useEdited } from "./useEdited.ts";
import { Stack } from "#ui/components/Stack.tsx";
import layout from "#ui/components/layout.module.css";
import styles from "./settings.module.css";

const path = "copy_files";
const modes: readonly CopyMode[] = ["copy", "hardlink", "symlink"];

export const modeOf = ({ mode }: CopyFile): CopyMode => mode ?? "copy";
const plain = (rules: readonly CopyFile[]) =>
  rules
    .map((rule) => ({ pattern: rule.pattern.trim(), mode: modeOf(rule) }))
    .filter(({ pattern }) => pattern !== "");
/** Files that git does not hold and a new worktree needs. */
export function CopyFiles() {
  const { t } = useTranslation();
  const { view, error } = useSettings();
  const id = useId();
  const { typed: rules, set: setRules } = useEdited<readonly CopyFile[]>({
    path,
    shown: view.settings.copy_files ?? [],
    said: plain,
  });
  const set = (index: number, change: Partial<CopyFile>) =>
    setRules(rules.map((rule, at) => (at === index ? { ...rule, ...change } : rule)));
  const label = t("projectSettings.copyFiles");
  const inRules = rules.some((_, index) => findingAt(error, `${path}[${index}]`));
  return (
    <Frame path={path} label={label}>
      <Stack gap={2} role="group" aria-labelledby={id}>
        <span id={id} className={styles.label}>
          {label}
        </span>
        <span className={layout.note}>{t("projectSettings.copyFilesHint")}</span>
        {rules.map((rule, index) => (
          <div key={index} className={styles.rule}>
            <TextField
              label={t("projectSettings.pattern", { number: index + 1 })}
              hideLabel
              mono
              placeholder=".env*"
              value={rule.pattern}
              error={findingAt(error, `${path}[${index}]`)}
              onChange={(pattern) => set(index, { pattern })}
            />
            <Select<CopyMode>
              label={t("projectSettings.modeOf", { number: index + 1 })}
              hideLabel
              value={modeOf(rule)}
              options={modes.map((mode) => ({
                value: mode,
                label: t(`projectSettings.modes.${mode}`),
                note: t(`projectSettings.modeNotes.${mode}`),
              }))}
              onChange={(mode) => set(index, { mode })}
            />
            <IconButton
              size="sm"
              label={t("projectSettings.up")}
              icon={<ArrowUp />}
              disabled={index === 0}
              onClick={() => setRules(moved(rules, index, index - 1))}
            />
            <IconButton
              size="sm"
              label={t("projectSettings.down")}
              icon={<ArrowDown />}
              disabled={index === rules.length - 1}
              onClick={() => setRules(moved(rules, index, index + 1))}
            />
            <IconButton
              size="sm"
              label={t("projectSettings.removeRule", { number: index + 1 })}
              icon={<X />}
              onClick={() => setRules(rules.filter((_, at) => at !== index))}
            />
          </div>
        ))}
        {!inRules && findingAt(error, path) && (
          <span className={styles.error}>{findingAt(error, path)}</span>
        )}
        <div className={styles.buttons}>
          <Button
            size="sm"
            variant="ghost"
            flush
            icon={<Plus />}
            onClick={() => setRules([...rules, { pattern: "" }])}
          >
            {t("projectSettings.addRule")}
          </Button>
        </div>
      </Stack>
    </Frame>
  );
}
