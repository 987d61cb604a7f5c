import { Pencil } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useOp } from "#ui/api/client.ts";
import type { Task } from "#ui/api/generated.ts";
import { Badge } from "#ui/components/Badge.tsx";
import { Button } from "#ui/components/Button.tsx";
import { IconButton } from "#ui/components/IconButton.tsx";
import { TextArea } from "#ui/components/TextField.tsx";
import { ActionError } from "../ActionError.tsx";
import { useAction } from "../useAction.ts";
import { checksFrom } from "./checks.ts";
import { Row } from "#ui/components/Row.tsx";
import { Stack } from "#ui/components/Stack.tsx";
import layout from "#ui/components/layout.module.css";
import styles from "./Details.module.css";

/** The project's checks, or the task's own in their place. */
export function Checks({ task, projectId }: { task: Task; projectId: string }) {
  const { t } = useTranslation();
  const action = useAction();
  const settings = useOp("project_settings_get", { project_id: projectId }).data?.settings;
  const [draft, setDraft] = useState<string | null>(null);
  const own = task.review_config?.ci_steps ?? null;
  const steps = own ?? settings?.review_config?.ci_steps ?? [];

  const keep = async (ciSteps: string[] | null) => {
    const rest = { ...task.review_config, ci_steps: ciSteps };
    const isEmpty = Object.values(rest).every((value) => value === null || value === undefined);
    const done = await action.run("task_update", {
      task_id: task.id,
      version: task.version,
      review_config: isEmpty ? null : rest,
    });
    if (done) setDraft(null);
  };

  return (
    <Stack gap={2}>
      <h3 className={styles.heading}>
        {t("task.checks")}
        <Badge look="outline">{own === null ? t("task.checksProject") : t("task.checksOwn")}</Badge>
        <IconButton
          label={t("task.editChecks")}
          icon={<Pencil />}
          size="sm"
          onClick={() => setDraft(steps.join("\n"))}
        />
      </h3>
      {draft === null ? (
        steps.length === 0 ? (
          <p className={layout.faint}>{t("task.noChecks")}</p>
        ) : (
          <ol className={styles.steps} data-selectable>
            {steps.map((step, index) => (
              <li key={index}>
                <code>{step}</code>
              </li>
            ))}
          </ol>
        )
      ) : (
        <>
          <TextArea
            autoFocus
            mono
            hideLabel
            label={t("task.checks")}
            hint={t("task.checksHint")}
            rows={Math.max(3, draft.split("\n").length + 1)}
            value={draft}
            onChange={setDraft}
          />
          <Row wrap gap={2}>
            <Button
              size="sm"
              variant="primary"
              busy={action.busy !== null}
              onClick={() => void keep(checksFrom(draft))}
            >
              {t("task.save")}
            </Button>
            {own !== null && (
              <Button size="sm" onClick={() => void keep(null)}>
                {t("task.checksUseProject")}
              </Button>
            )}
            <Button size="sm" variant="ghost" onClick={() => setDraft(null)}>
              {t("action.cancel")}
            </Button>
          </Row>
        </>
      )}
      <ActionError title={t("task.saveFailed")} error={action.error} onDismiss={action.dismiss} />
    </Stack>
  );
}
