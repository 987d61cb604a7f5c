/** The plan of a task: what a planner wrote, for a person to approve, to send back, or to change. */
import { NotebookPen } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useOp, useOpMutation } from "#ui/api/client.ts";
import type { Task } from "#ui/api/generated.ts";
import { asksForPlan } from "#ui/domain/plan.ts";
import { useStates } from "#ui/domain/useStates.ts";
import { Button } from "#ui/components/Button.tsx";
import { ErrorState } from "#ui/components/ErrorState.tsx";
import { Markdown } from "#ui/components/Markdown.tsx";
import { RelativeTime } from "#ui/components/RelativeTime.tsx";
import { TextArea } from "#ui/components/TextField.tsx";
import { useText } from "#ui/draft/useText.ts";
import { usePlatform } from "#ui/platform/PlatformContext.tsx";
import { ActionError } from "../ActionError.tsx";
import { Stack } from "#ui/components/Stack.tsx";
import layout from "#ui/components/layout.module.css";
import styles from "./Plan.module.css";

export function Plan({ task }: { task: Task }) {
  const { t } = useTranslation();
  const platform = usePlatform();
  const state = useStates(task.project_id).get(task.status);
  const asked = asksForPlan(state);
  const plan = useOp("task_plan", { task_id: task.id }, { enabled: task.workspace !== null });
  const [isOpen, setOpen] = useState(false);
  const saved = plan.data?.text ?? "";
  const { text, isDirty, write, drop } = useText(`plan:${task.id}`, saved);
  const close = () => {
    drop();
    setOpen(false);
  };
  const save = useOpMutation("task_plan_put", { onSuccess: close });
  const isEdited = isOpen || isDirty;
  if (plan.error && asked) {
    return (
      <ErrorState title={t("plan.failed")} error={plan.error} onRetry={() => void plan.refetch()} />
    );
  }
  if (!plan.data || (saved === "" && !asked && !isEdited)) return null;
  return (
    <section className={styles.plan} aria-label={t("plan.title")}>
      <header className={styles.head}>
        <NotebookPen aria-hidden />
        <h3>{t("plan.title")}</h3>
        {plan.data.written_at && (
          <span className={layout.note}>
            <RelativeTime at={plan.data.written_at} />
          </span>
        )}
        {asked && !isEdited && (
          <Button size="sm" variant="ghost" onClick={() => setOpen(true)}>
            {saved === "" ? t("plan.write") : t("plan.edit")}
          </Button>
        )}
      </header>
      {!isEdited && saved !== "" && (
        <Markdown source={saved} onLink={(href) => void platform.openExternal(href)} />
      )}
      {!isEdited && saved === "" && <p className={layout.soft}>{t("plan.none")}</p>}
      {isEdited && (
        <Stack
          as="form"
          gap={3}
          onSubmit={(event) => {
            event.preventDefault();
            save.mutate({ task_id: task.id, text });
          }}
        >
          <TextArea
            label={t("plan.text")}
            hideLabel
            mono
            rows={12}
            value={text}
            onChange={write}
            // The person has just asked for this field.
            // oxlint-disable-next-line jsx-a11y/no-autofocus
            autoFocus
          />
          {save.error && <ActionError title={t("plan.saveFailed")} error={save.error} />}
          <div className={styles.actions}>
            <Button type="submit" variant="primary" size="sm" disabled={save.isPending}>
              {t("plan.save")}
            </Button>
            <Button size="sm" variant="ghost" onClick={close}>
              {t("plan.discard")}
            </Button>
          </div>
        </Stack>
      )}
    </section>
  );
}
