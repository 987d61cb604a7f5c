import { ArrowDown, ArrowUp, Plus, RotateCcw, X } from "lucide-react";
import { createContext, use, useId, useState, type FormEvent, type ReactNode } from "react";
import { useTranslation } from "react-i18next";
import type { ApiError } from "#ui/api/error.ts";
import { findingAt } from "#ui/api/findings.ts";
import type { SettingsView, ValueSource } from "#ui/api/generated.ts";
import { Badge } from "#ui/components/Badge.tsx";
import { Button } from "#ui/components/Button.tsx";
import { IconButton } from "#ui/components/IconButton.tsx";
import { Switch } from "#ui/components/Switch.tsx";
import { TextArea, TextField } from "#ui/components/TextField.tsx";
import { isOwn, linesAt, patchAt, valueAt } from "./settingsPath.ts";
import { lineTyping, typing, type LineKind, type TextKind } from "./typed.ts";
import { Stack } from "#ui/components/Stack.tsx";
import layout from "#ui/components/layout.module.css";
import styles from "./settings.module.css";

export type SettingsChange = { readonly [key: string]: unknown };

export interface SettingsAccess {
  readonly view: SettingsView;
  readonly error: ApiError | null;
  readonly busy: boolean;
  readonly patch: (change: SettingsChange) => void;
  /** As `patch`; answers what is in force then, and rejects when it is refused. */
  readonly save: (change: SettingsChange) => Promise<SettingsView>;
  /** What is in force now; none when it cannot be read. */
  readonly reread: () => Promise<SettingsView | null>;
  /** Where a value that is not the project's own comes from; without, it is the default. */
  readonly sourceOf?: (path: string) => ValueSource | undefined;
}

const Context = createContext<SettingsAccess | null>(null);
export const SettingsProvider = Context;

export function useSettings(): SettingsAccess {
  const access = use(Context);
  if (!access) throw new Error("failed to find the settings: no SettingsProvider above");
  return access;
}

/** Where a value comes from, and the way back to its default. */
function Provenance({ path, label }: { path: string; label: string }) {
  const { t } = useTranslation();
  const { view, patch, sourceOf } = useSettings();
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

/** Text or a number; saved by Enter or its button. Empty returns to the default. */
export function TextSetting(props: TextSettingProps) {
  const { view } = useSettings();
  const text = typing[props.kind ?? "text"].shown(valueAt(view.settings, props.path));
  // A new value from elsewhere starts the field anew.
  return <TextSettingField key={text} {...props} saved={text} />;
}

function TextSettingField({
  path,
  label,
  hint,
  kind = "text",
  placeholder,
  suffix,
  mono = false,
  saved,
}: TextSettingProps & { saved: string }) {
  const { t } = useTranslation();
  const { error, busy, patch } = useSettings();
  const [text, setText] = useState(saved);
  const { typed, said, inputMode } = typing[kind];
  const submit = (event: FormEvent) => {
    event.preventDefault();
    patch(patchAt(path, said(text)));
  };
  return (
    <Frame path={path} label={label}>
      <form className={styles.inline} onSubmit={submit}>
        <TextField
          label={label}
          hint={hint}
          mono={mono}
          value={text}
          error={findingAt(error, path)}
          {...(inputMode ? { inputMode } : {})}
          {...(placeholder ? { placeholder } : {})}
          {...(suffix ? { suffix } : {})}
          onChange={(next) => setText(typed(next))}
        />
        {text !== saved && (
          <Button type="submit" variant="primary" busy={busy}>
            {t("projectSettings.save")}
          </Button>
        )}
      </form>
    </Frame>
  );
}

/** A text of several lines; nothing is saved before the button says so. Empty returns to the default. */
export function AreaSetting(props: SettingProps) {
  const { view } = useSettings();
  const value = valueAt(view.settings, props.path);
  const text = typeof value === "string" ? value : "";
  return <AreaField key={text} {...props} saved={text} />;
}

function AreaField({ path, label, hint, saved }: SettingProps & { saved: string }) {
  const { t } = useTranslation();
  const { error, busy, patch } = useSettings();
  const [text, setText] = useState(saved);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    patch(patchAt(path, text.trim() === "" ? null : text.trim()));
  };
  return (
    <Frame path={path} label={label}>
      <Stack as="form" gap={3} onSubmit={submit}>
        <TextArea
          label={label}
          hint={hint}
          rows={5}
          value={text}
          error={findingAt(error, path)}
          onChange={setText}
        />
        {text !== saved && (
          <div className={styles.buttons}>
            <Button type="submit" size="sm" variant="primary" busy={busy}>
              {t("projectSettings.save")}
            </Button>
          </div>
        )}
      </Stack>
    </Frame>
  );
}

export function SwitchSetting({ path, label, hint }: SettingProps) {
  const { view, busy, patch } = useSettings();
  return (
    <Frame path={path} label={label}>
      <Switch
        label={label}
        {...(hint ? { hint } : {})}
        disabled={busy}
        checked={valueAt(view.settings, path) === true}
        onChange={(checked) => patch(patchAt(path, checked))}
      />
    </Frame>
  );
}

export interface LinesSettingProps extends SettingProps {
  readonly add: string;
  readonly of?: LineKind;
}

/** Lines in order; nothing is saved before the button says so, or while a line is wrong. */
export function LinesSetting(props: LinesSettingProps) {
  const { view } = useSettings();
  const saved = linesAt(view.settings, props.path);
  return <LinesField key={saved.join("\n")} {...props} saved={saved} />;
}

function LinesField({
  path,
  label,
  hint,
  add,
  of = "text",
  saved,
}: LinesSettingProps & { readonly saved: readonly string[] }) {
  const { t } = useTranslation();
  const { error, busy, patch } = useSettings();
  const id = useId();
  const [lines, setLines] = useState(saved);
  const set = (index: number, line: string) =>
    setLines(lines.map((each, at) => (at === index ? line : each)));
  const swap = (index: number, by: 1 | -1) => {
    const next = [...lines];
    const [line = ""] = next.splice(index, 1);
    next.splice(index + by, 0, line);
    setLines(next);
  };
  const kept = lines.map((line) => line.trim()).filter((line) => line !== "");
  const changed = kept.join("\n") !== saved.join("\n");
  const { said, wrong, inputMode } = lineTyping[of];
  const wrongIn = (line: string) => (line.trim() === "" ? undefined : wrong(line.trim()));
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
              onClick={() => swap(index, -1)}
            />
            <IconButton
              size="sm"
              label={t("projectSettings.down")}
              icon={<ArrowDown />}
              disabled={index === lines.length - 1}
              onClick={() => swap(index, 1)}
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
          {changed && (
            <Button
              size="sm"
              variant="primary"
              busy={busy}
              disabled={lines.some((line) => wrongIn(line))}
              onClick={() => patch(patchAt(path, kept.map(said)))}
            >
              {t("projectSettings.save")}
            </Button>
          )}
        </div>
      </Stack>
    </Frame>
  );
}
