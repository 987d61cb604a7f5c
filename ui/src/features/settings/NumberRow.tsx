/** A row with a number, saved as everything in the settings is. A number that is refused is kept as it was typed. */
import { useEffect, useRef } from "react";
import { useTranslation } from "react-i18next";
import { ChangedElsewhere } from "#ui/components/ChangedElsewhere.tsx";
import { NumberField } from "#ui/components/NumberField.tsx";
import { SaveBar } from "#ui/components/SaveBar.tsx";
import { showToast } from "#ui/components/Toast.tsx";
import {
  editDraft,
  isDirty,
  openDraft,
  rebaseDraft,
  resetDraft,
  saveDraft,
  useDraft,
} from "#ui/draft/drafts.ts";
import { useDraftKeys } from "#ui/draft/useDraftKeys.ts";
import { Row } from "./Section.tsx";
import styles from "./SettingsScreen.module.css";

export interface NumberRowProps {
  readonly label: string;
  /** Name of the field, where the label of the row does not say what is counted. */
  readonly fieldLabel?: string;
  readonly hint: string;
  readonly saved: number | null;
  /** What is typed is kept under this name. */
  readonly draft: string;
  /** Rejects when it is refused. */
  readonly save: (value: number) => Promise<unknown>;
}

const shown = (value: number | null): string => (value === null ? "" : String(value));

export function NumberRow({
  label,
  fieldLabel = label,
  hint,
  saved,
  draft: name,
  save,
}: NumberRowProps) {
  const { t } = useTranslation();
  const key = `setting:${name}`;
  const base = shown(saved);
  useEffect(() => openDraft(key, base, null), [key, base]);
  const draft = useDraft(key);
  const text = draft?.text ?? base;
  const isChanged = draft !== undefined && isDirty(draft);
  const isStale = draft?.isStale ?? false;
  const choice = useRef<HTMLButtonElement>(null);
  const put = async () => {
    try {
      await save(Number(text));
    } catch (error) {
      const detail = error instanceof Error ? error.message : String(error);
      showToast({ tone: "danger", title: t("settings.notSaved"), detail });
      throw error;
    }
    return { base: text, version: null };
  };
  const submit = () => {
    if (isStale) choice.current?.focus();
    else if (isChanged && text !== "") void saveDraft(key, put, () => Promise.resolve(null));
  };
  const onKeyDown = useDraftKeys({ key, save: submit, isOff: !isChanged });
  return (
    <div role="group" aria-label={label} className={styles.item}>
      <Row label={label} hint={hint}>
        <form
          onSubmit={(event) => {
            event.preventDefault();
            submit();
          }}
        >
          <NumberField
            label={fieldLabel}
            hideLabel
            value={text === "" ? null : Number(text)}
            onChange={(value) => editDraft(key, shown(value), key)}
            onKeyDown={onKeyDown}
          />
        </form>
      </Row>
      {isStale && (
        <ChangedElsewhere
          ref={choice}
          title={t("projectSettings.changedElsewhere")}
          onKeep={() => rebaseDraft(key, base, null)}
          onTake={() => resetDraft(key, base, null)}
        />
      )}
      {isChanged && (
        <SaveBar
          busy={draft.isSaving}
          isWrong={text === ""}
          onSave={submit}
          onDiscard={() => resetDraft(key, base, null)}
        />
      )}
    </div>
  );
}
