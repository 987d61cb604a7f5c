import { useState, type FormEvent } from "react";
import { useTranslation } from "react-i18next";
import { Button } from "#ui/components/Button.tsx";
import { Dialog } from "#ui/components/Dialog.tsx";
import { TextField } from "#ui/components/TextField.tsx";
import { setAt } from "#ui/draft/path.ts";
import { useEditor } from "./EditorContext.tsx";
import { freeTrigger, statePath, text, titleOf } from "./definition.ts";
import { knownTriggers } from "./registry.ts";
import { Stack } from "#ui/components/Stack.tsx";
import styles from "./workflow.module.css";

export interface NewMove {
  readonly from: number;
  readonly to: number;
}

const formId = "add-trigger";

/** A line was drawn: what pulls it. */
export function ConnectDialog({ move, onClose }: { move: NewMove; onClose: () => void }) {
  const { t } = useTranslation();
  const { workflow, edit } = useEditor();
  const [from, to] = [workflow.states[move.from], workflow.states[move.to]];
  const [name, setName] = useState(from ? freeTrigger(from) : "");
  if (!from || !to) return null;
  const taken = Object.hasOwn(from.triggers ?? {}, name.trim());
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (taken || name.trim() === "") return;
    const path = [...statePath(move.from), "triggers", name.trim()];
    edit(setAt(workflow, path, { to: text(to.name) }));
    onClose();
  };
  return (
    <Dialog
      open
      size="sm"
      onOpenChange={(open) => !open && onClose()}
      title={t("workflow.connectTitle")}
      description={t("workflow.connectText", { from: titleOf(from), to: titleOf(to) })}
      actions={
        <>
          <Button onClick={onClose}>{t("action.cancel")}</Button>
          <Button type="submit" form={formId} variant="primary" disabled={taken || !name.trim()}>
            {t("workflow.addTrigger")}
          </Button>
        </>
      }
    >
      <Stack id={formId} as="form" gap={4} onSubmit={submit}>
        <TextField
          autoFocus
          mono
          label={t("workflow.trigger")}
          value={name}
          error={taken ? t("workflow.triggerTaken") : undefined}
          onChange={setName}
        />
        <div className={styles.words}>
          {knownTriggers.map((each) => (
            <Button key={each} size="sm" variant="ghost" onClick={() => setName(each)}>
              {each}
            </Button>
          ))}
        </div>
        <p className={styles.hint}>{t("workflow.triggerHint")}</p>
      </Stack>
    </Dialog>
  );
}
