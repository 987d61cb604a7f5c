/** A file with issues, read in the page: the engine may be on another computer. */
import { FileUp } from "lucide-react";
import { useId, useRef } from "react";
import { useTranslation } from "react-i18next";
import { findingAt } from "#ui/api/findings.ts";
import { Button } from "#ui/components/Button.tsx";
import { Row } from "#ui/components/Row.tsx";
import { Select } from "#ui/components/Select.tsx";
import { Stack } from "#ui/components/Stack.tsx";
import { TextField } from "#ui/components/TextField.tsx";
import { Truncate } from "#ui/components/Truncate.tsx";
import layout from "#ui/components/layout.module.css";
import { bytes } from "#ui/domain/size.ts";
import { contentOf } from "./file.ts";
import { byName, type Format, type ImportFormState } from "./useImportForm.ts";
import styles from "./issues.module.css";

/** What the engine says of the file itself. */
const ofFile = ["text", "data", "name"];
const formats: readonly Format[] = [byName, "markdown", "csv", "vibe_kanban"];

export function FileTab({ form }: { form: ImportFormState }) {
  const { t } = useTranslation();
  const { file, format, board, hasDatabase, asksForBoard, error } = form;
  const id = useId();
  const input = useRef<HTMLInputElement>(null);
  const read = async (field: HTMLInputElement) => {
    const chosen = field.files?.[0];
    // The same file can be chosen again.
    field.value = "";
    if (!chosen) return;
    const { name, size } = chosen;
    const content = await chosen.arrayBuffer().then(
      (read) => contentOf(new Uint8Array(read)),
      () => null,
    );
    form.setFile({ name, size, content });
  };
  const wrong =
    file?.content === null
      ? t("issues.unreadable")
      : ofFile.flatMap((field) => findingAt(error, field) ?? []).join(" ");
  return (
    <div className={styles.tab}>
      <Stack gap={1}>
        <span id={`${id}-label`} className={styles.label}>
          {t("issues.fileField")}
        </span>
        <input
          ref={input}
          hidden
          type="file"
          accept=".md,.markdown,.csv,.tsv,.json,.sqlite,.db"
          aria-label={t("issues.choose")}
          onChange={(event) => void read(event.currentTarget)}
        />
        <Row gap={3}>
          <Button
            icon={<FileUp />}
            aria-describedby={`${id}-hint${wrong ? ` ${id}-error` : ""}`}
            onClick={() => input.current?.click()}
          >
            {t("issues.choose")}
          </Button>
          {file && (
            <Row gap={2} shrink role="status">
              <Truncate>{file.name}</Truncate>
              <span className={styles.number}>{bytes(file.size)}</span>
            </Row>
          )}
        </Row>
        <span id={`${id}-hint`} className={layout.note}>
          {t(hasDatabase ? "issues.databaseHint" : "issues.fileHint")}
        </span>
        {wrong && (
          <span id={`${id}-error`} role="alert" className={layout.error}>
            {wrong}
          </span>
        )}
      </Stack>
      {!hasDatabase && (
        <Select<Format>
          label={t("issues.format")}
          value={format}
          options={formats.map((value) => ({
            value,
            label: t(`issues.formats.${value}`),
          }))}
          error={findingAt(error, "kind")}
          onChange={form.setFormat}
        />
      )}
      {asksForBoard && (
        <TextField
          label={t("issues.board")}
          hint={t("issues.boardHint")}
          value={board}
          error={findingAt(error, "board")}
          onChange={form.setBoard}
        />
      )}
    </div>
  );
}
