import { Pencil } from "lucide-react";
import { useState, type KeyboardEvent } from "react";
import { useTranslation } from "react-i18next";
import type { Task } from "#ui/api/generated.ts";
import { isMac } from "#ui/components/combo.ts";
import { Button } from "#ui/components/Button.tsx";
import { IconButton } from "#ui/components/IconButton.tsx";
import { Markdown } from "#ui/components/Markdown.tsx";
import { TextArea } from "#ui/components/TextField.tsx";
import { usePlatform } from "#ui/platform/PlatformContext.tsx";
import { useText } from "#ui/draft/useText.ts";
import { ActionError } from "../ActionError.tsx";
import { useAction } from "../useAction.ts";
import { Row } from "#ui/components/Row.tsx";
import { Stack } from "#ui/components/Stack.tsx";
import layout from "#ui/components/layout.module.css";
import styles from "./Details.module.css";

export function Description({ task }: { task: Task }) {
  const { t } = useTranslation();
  const platform = usePlatform();
  const action = useAction();
  const [isOpen, setOpen] = useState(false);
  const { text, isDirty, write, drop } = useText(`description:${task.id}`, task.description);

  const close = () => {
    drop();
    setOpen(false);
  };

  const keep = async () => {
    if (action.busy) return;
    const done = await action.run("task_update", {
      task_id: task.id,
      version: task.version,
      description: text,
    });
    if (done) close();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const mod = isMac ? event.metaKey : event.ctrlKey;
    if (event.key === "Enter" && mod) {
      event.preventDefault();
      void keep();
    } else if (event.key === "Escape") {
      event.stopPropagation();
      close();
    }
  };

  if (isOpen || isDirty) {
    return (
      <Stack gap={2}>
        <TextArea
          // The person asked to edit.
          autoFocus
          label={t("task.description")}
          hint={t("task.markdown")}
          rows={Math.min(18, Math.max(5, text.split("\n").length + 1))}
          value={text}
          onChange={write}
          onKeyDown={onKeyDown}
        />
        <ActionError title={t("task.saveFailed")} error={action.error} onDismiss={action.dismiss} />
        <Row wrap gap={2}>
          <Button
            size="sm"
            variant="primary"
            keys="mod+enter"
            busy={action.busy !== null}
            onClick={() => void keep()}
          >
            {t("task.save")}
          </Button>
          <Button size="sm" variant="ghost" onClick={close}>
            {t("action.cancel")}
          </Button>
        </Row>
      </Stack>
    );
  }
  return (
    <Stack gap={2}>
      <h3 className={styles.heading}>
        {t("task.description")}
        <IconButton
          label={t("task.editDescription")}
          icon={<Pencil />}
          size="sm"
          onClick={() => setOpen(true)}
        />
      </h3>
      {task.description.trim() === "" ? (
        <p className={layout.faint}>{t("task.noDescription")}</p>
      ) : (
        <Markdown source={task.description} onLink={(href) => void platform.openExternal(href)} />
      )}
    </Stack>
  );
}
