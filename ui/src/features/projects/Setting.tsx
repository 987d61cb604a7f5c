import { ArrowDown, ArrowUp, Plus, RotateCcw, Undo2, X } from "lucide-react";
import { useId, type ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { findingAt } from "#ui/api/findings.ts";
import { Badge } from "#ui/components/Badge.tsx";
import { Button } from "#ui/components/Button.tsx";
import { IconButton } from "#ui/components/IconButton.tsx";
import { Switch } from "#ui/components/Switch.tsx";
import { TextArea, TextField } from "#ui/components/TextField.tsx";
import { moved } from "#ui/draft/path.ts";
import { isOwn, linesAt, patchAt, valueAt } from "./settingsPath.ts";
import { lineTyping, typing, type LineKind, type TextKind } from "./typed.ts";
import { useEdited } from "./useEdited.ts";
import { onEnter } from "./onEnter.ts";
import { useSettings } from "./settingsContext.ts";
import { Stack } from "#ui/components/Stack.tsx";
import layout from "#ui/components/layout.module.css";
import styles from "./settings.module.css";

/** Where a value comes from, and the way back to its default. */
function Provenance({ path, label }: { path: string; label: string }) {
  const { t } = useTranslation();
  const { view, saved, patch, isReset, sourceOf } = useSettings();
  if (isReset(path)) {
    return (
      <span className={styles.own}>
        <span className={styles.default}>{t("projectSettings.isReset")}</span>
        <IconButton
          size="sm"
          label={t("projectSettings.keepOwn", { name: label })}
          icon={<Undo2 />}
          onClick={() => patch(patchAt(path, valueAt(saved.own, path)))}
        />
      </span>
    );
  }
  if (!isOwn(view.own, path)) {
    if (sourceOf?.(path) === "repository") {
      return (
        <span className={styles.own}>
          <Badge look="outline">{t("projectSettings.isRepository")}</Badge>
        </span>
      );
    }
    return <span className={styles.default}>{t("projectSettings.isDefault")}</span>;
  }
  return (
    <span className={styles.own}>
      <Badge look="outline">{t("projectSettings.isOwn")}</Badge>
      <IconButton
        size="sm"
        label={t("projectSettings.reset", { name: label })}
        icon={<RotateCcw />}
        onClick={() => patch(patchAt(path, null))}
      />
    </span>
  );
}

export interface SettingProps {
  readonly path: string;
  readonly label: string;
  readonly hint?: string;
}

export function Frame({ path, label, children }: SettingProps & { children: ReactNode }) {
  return (
    <div className={styles.setting}>
      <div className={layout.fillNarrow}>{children}</div>
      <Provenance path={path} label={label} />
    </div>
  );
}

export interface TextSettingProps extends SettingProps {
  readonly kind?: TextKind;
  readonly placeholder?: string;
  readonly suffix?: string;
  readonly mono?: boolean;
}

/** Text or a number; empty returns to the default. Enter saves what is written. */
export function TextSetting({
  path,
  label,
  hint,
  kind = "text",
  placeholder,
  suffix,
  mono = false,
}: TextSettingProps) {
  const { view, error, submit } = useSettings();
  const { typed: clean, said, shown, inputMode } = typing[kind];
  const { typed, set, leave } = useEdited({
    path,
    shown: shown(valueAt(view.settings, path)),
    said,
  });
  return (
    <Frame path={path} label={label}>
      <div className={styles.inline}>
        <TextField
          label={label}
          hint={hint}
          mono={mono}
          value={typed}
          error={findingAt(error, path)}
          {...(inputMode ? { inputMode } : {})}
          {...(placeholder ? { placeholder } : {})}
          {...(suffix ? { suffix } : {})}
          onChange={(next) => set(clean(next))}
          onKeyDown={onEnter(submit)}
          onBlur={leave}
        />
      </div>
    </Frame>
  );
}

/** A text of several lines; empty returns to the default. */
export function AreaSetting({ path, label, hint }: SettingProps) {
  const { view, error } = useSettings();
  const value = valueAt(view.settings, path);
  const { typed, set, leave } = useEdited({
    path,
    shown: typeof value === "string" ? value : "",
    said: (text) => text.trim() || null,
  });
  return (
    <Frame path={path} label={label}>
      <TextArea
        label={label}
        hint={hint}
        rows={5}
        value={typed}
        error={findingAt(error, path)}
        onChange={set}
        onBlur={leave}
      />
    </Frame>
  );
}

export function SwitchSetting({ path, label, hint }: SettingProps) {
  const { view, saved, busy, patch, isReset } = useSettings();
  // What the default is, is known when it is in force.
  const reset = isReset(path);
  const shown = valueAt(reset ? saved.settings : view.settings, path) === true;
  const usual = !isOwn(saved.own, path) && valueAt(saved.settings, path) === true;
  return (
    <Frame path={path} label={label}>
      <Switch
        label={label}
        {...(hint ? { hint } : {})}
        disabled={busy || reset}
        checked={shown}
        onChange={(checked) =>
          patch(patchAt(path, !isOwn(saved.own, path) && checked === usual ? null : checked))
        }
      />
    </Frame>
  );
}

export interface LinesSettingProps extends SettingProps {
  readonly add: string;
  readonly of?: LineKind;
}

/** Lines in order. */
export function LinesSetting({ path, label, hint, add, of = "text" }: LinesSettingProps) {
  const { t } = useTranslation();
  const { view, error } = useSettings();
  const id = useId();
  const { said, wrong, inputMode } = lineTyping[of];
  const wrongIn = (line: string) => (line.trim() === "" ? undefined : wrong(line.trim()));
  const { typed: lines, set: setLines } = useEdited<readonly string[]>({
    path,
    shown: linesAt(view.settings, path),
    said: (all) => keptIn(all).map((line) => (wrongIn(line) ? line : said(line))),
    isWrong: (all) => all.some((line) => wrongIn(line)),
  });
  const set = (index: number, line: string) =>
    setLines(lines.map((each, at) => (at === index ? line : each)));
  const problemOf = (line: string) => {
    const key = wrongIn(line);
    return key && t(key);
  };
  const problem = findingAt(error, path);
  return (
    <Frame path={path} label={label}>
      <Stack gap={2} role="group" aria-labelledby={id}>
        <span id={id} className={styles.label}>
          {label}
        </span>
        {hint && <span className={layout.note}>{hint}</span>}
        {lines.map((line, index) => (
          <div key={index} className={styles.line}>
            <TextField
              label={t("projectSettings.line", { name: label, number: index + 1 })}
              hideLabel
              mono
              value={line}
              error={problemOf(line)}
              {...(inputMode ? { inputMode } : {})}
              onChange={(next) => set(index, next)}
            />
            <IconButton
              size="sm"
              label={t("projectSettings.up")}
              icon={<ArrowUp />}
              disabled={index === 0}
              onClick={() => setLines(moved(lines, index, index - 1))}
            />
            <IconButton
              size="sm"
              label={t("projectSettings.down")}
              icon={<ArrowDown />}
              disabled={index === lines.length - 1}
              onClick={() => setLines(moved(lines, index, index + 1))}
            />
            <IconButton
              size="sm"
              label={t("projectSettings.removeLine")}
              icon={<X />}
              onClick={() => setLines(lines.filter((_, at) => at !== index))}
            />
          </div>
        ))}
        {problem && <span className={styles.error}>{problem}</span>}
        <div className={styles.buttons}>
          <Button
            size="sm"
            variant="ghost"
            flush
            icon={<Plus />}
            onClick={() => setLines([...lines, ""])}
          >
            {add}
          </Button>
        </div>
      </Stack>
    </Frame>
  );
}

const keptIn = (lines: readonly string[]): readonly string[] =>
  lines.map((line) => line.trim()).filter((line) => line !== "");
