/** What is to be checked: commands and files, a line each, and who must export what others take. */
import { useState, type ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { ContractList } from "#ui/domain/validate/ContractList.tsx";
import { Button } from "#ui/components/Button.tsx";
import { TextArea } from "#ui/components/TextField.tsx";
import type { Draft } from "./validate.ts";
import { Row } from "#ui/components/Row.tsx";
import { Stack } from "#ui/components/Stack.tsx";

export interface ChecksFormProps {
  readonly first: Draft;
  readonly busy: boolean;
  /** Ends the run under way. */
  readonly stop: ReactNode;
  readonly onRun: (draft: Draft) => void;
  /** Absent where there is nothing to go back to. */
  readonly onCancel?: () => void;
}

export function ChecksForm({ first, busy, stop, onRun, onCancel }: ChecksFormProps) {
  const { t } = useTranslation();
  const [draft, setDraft] = useState(first);
  const { commands, files, contracts } = draft;
  return (
    <Stack
      as="form"
      gap={4}
      onSubmit={(event) => {
        event.preventDefault();
        onRun(draft);
      }}
    >
      <TextArea
        label={t("validate.commands")}
        hint={t("validate.commandsHint")}
        mono
        rows={3}
        value={commands}
        onChange={(next) => setDraft({ ...draft, commands: next })}
      />
      <TextArea
        label={t("validate.files")}
        hint={t("validate.filesHint")}
        mono
        rows={2}
        value={files}
        onChange={(next) => setDraft({ ...draft, files: next })}
      />
      <ContractList
        contracts={contracts}
        onChange={(next) => setDraft({ ...draft, contracts: next })}
      />
      <Row wrap gap={2}>
        <Button type="submit" size="sm" variant="primary" busy={busy}>
          {t("validate.run")}
        </Button>
        {stop}
        {onCancel && (
          <Button size="sm" variant="ghost" disabled={busy} onClick={onCancel}>
            {t("action.cancel")}
          </Button>
        )}
      </Row>
    </Stack>
  );
}
