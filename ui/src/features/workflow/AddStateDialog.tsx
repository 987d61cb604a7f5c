import { useState, type FormEvent } from "react";
import { useTranslation } from "react-i18next";
import { kindOfState } from "#ui/domain/stateKinds.ts";
import type { StateKind } from "#ui/api/generated.ts";
import { Button } from "#ui/components/Button.tsx";
import { Dialog } from "#ui/components/Dialog.tsx";
import { Select } from "#ui/components/Select.tsx";
import { StateGlyph } from "#ui/components/StateGlyph.tsx";
import { TextField } from "#ui/components/TextField.tsx";
import { useEditor } from "./EditorContext.tsx";
import { addState, columnsOf, text } from "./definition.ts";
import { useStateOptions } from "./useStateOptions.tsx";
import { Stack } from "#ui/components/Stack.tsx";
import styles from "./workflow.module.css";

const formId = "add-state";
const none = "";
const offered: readonly StateKind[] = ["custom", "gate", "active", "backlog", "terminal"];

/** A state in one step: what it is called, what it is for, and where it stands between others. */
export function AddStateDialog({ onClose }: { onClose: () => void }) {
  const { t } = useTranslation();
  const { workflow, edit, setOpen } = useEditor();
  const states = useStateOptions();
  const [title, setTitle] = useState("");
  const [kind, setKind] = useState<StateKind>("custom");
  const [column, setColumn] = useState("");
  const [role, setRole] = useState(none);
  const worker = workflow.states.find((state) => state.kind === "active") ?? workflow.states[0];
  const [from, setFrom] = useState(text(worker?.name));
  const forward = (name: string) =>
    text(workflow.states.find((state) => text(state.name) === name)?.triggers?.["accept"]?.to);
  const [to, setTo] = useState(forward(from));
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (title.trim() === "") return;
    const added = addState(workflow, { title, kind, column, role, from, to });
    edit(added.workflow);
    setOpen(added.workflow.states.findIndex(({ name }) => name === added.name));
    onClose();
  };
  const any = { value: none, label: t("workflow.noState") };
  const columns = columnsOf(workflow);
  return (
    <Dialog
      open
      onOpenChange={(open) => !open && onClose()}
      title={t("workflow.addStateTitle")}
      actions={
        <>
          <Button onClick={onClose}>{t("action.cancel")}</Button>
          <Button type="submit" form={formId} variant="primary" disabled={title.trim() === ""}>
            {t("workflow.addState")}
          </Button>
        </>
      }
    >
      <Stack id={formId} as="form" gap={4} onSubmit={submit}>
        <TextField autoFocus label={t("workflow.title")} value={title} onChange={setTitle} />
        <div className={styles.pair}>
          <Select<StateKind>
            label={t("workflow.kind")}
            value={kind}
            options={offered.map((each) => ({
              value: each,
              label: t(`workflow.kinds.${each}`),
              note: t(`workflow.kindNotes.${each}`),
              icon: (
                <StateGlyph
                  kind={
                    each === "terminal"
                      ? "done"
                      : kindOfState({ kind: each, name: "", display_name: "", column: "" })
                  }
                  label=""
                />
              ),
            }))}
            onChange={setKind}
          />
          <Select
            label={t("workflow.role")}
            value={role}
            options={[
              { value: none, label: t("workflow.nobody") },
              ...(workflow.roles ?? []).map((each) => ({
                value: text(each.name),
                label: text(each.display_name) || text(each.name),
              })),
            ]}
            onChange={setRole}
          />
        </div>
        <Select
          label={t("workflow.column")}
          value={column}
          options={[
            { value: none, label: t("workflow.ownColumn"), note: t("workflow.ownColumnNote") },
            ...columns.map((each) => ({ value: each, label: each })),
          ]}
          onChange={setColumn}
        />
        <div className={styles.pair}>
          <Select
            label={t("workflow.comesFrom")}
            value={from}
            options={[any, ...states]}
            onChange={(next) => {
              setFrom(next);
              setTo(forward(next));
            }}
          />
          <Select
            label={t("workflow.goesTo")}
            value={to}
            options={[any, ...states]}
            onChange={setTo}
          />
        </div>
        <p className={styles.hint}>
          {from !== none && to !== none && forward(from) === to
            ? t("workflow.putBetween")
            : t("workflow.ownWays")}
        </p>
      </Stack>
    </Dialog>
  );
}
