/** The next step of a task in a state where nothing happens by itself: it is moved on or back by hand. */
import { Milestone } from "lucide-react";
import { useTranslation } from "react-i18next";
import { useOp } from "#ui/api/client.ts";
import type { State, Task } from "#ui/api/generated.ts";
import { Banner } from "#ui/components/Banner.tsx";
import { Button } from "#ui/components/Button.tsx";
import { Row } from "#ui/components/Row.tsx";
import { Stack } from "#ui/components/Stack.tsx";
import { ActionError } from "../ActionError.tsx";
import { stateOf, stepsFrom } from "../state.ts";
import { useAction } from "../useAction.ts";

export function Step({ task, state }: { task: Task; state: State }) {
  const { t } = useTranslation();
  const action = useAction();
  const view = useOp("project_workflow_get", { project_id: task.project_id }).data;
  if (!view) return null;
  const steps = stepsFrom(state, view.moves);
  const go = (to: string) =>
    void action.run("task_transition", {
      task_id: task.id,
      to,
      version: task.version,
      wait: "none",
    });
  return (
    <Banner
      tone="info"
      title={t("task.step.title", { state: state.display_name })}
      icon={<Milestone />}
      actions={
        <Stack gap={3} fill>
          <Row wrap gap={2}>
            {steps.map((to, index) => (
              <Button
                key={to}
                size="sm"
                variant={index === 0 ? "primary" : "secondary"}
                disabled={action.busy !== null}
                onClick={() => go(to)}
              >
                {t("task.step.move", { state: stateOf(view.workflow, to)?.display_name ?? to })}
              </Button>
            ))}
          </Row>
          <ActionError
            title={t("task.actionFailed")}
            error={action.error}
            onDismiss={action.dismiss}
          />
        </Stack>
      }
    >
      {t(steps.length > 0 ? "task.step.text" : "task.step.none")}
    </Banner>
  );
}
