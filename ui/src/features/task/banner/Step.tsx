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
import { TaskQuestions } from "#ui/app/TaskQuestions.tsx";
import { moveTo, useTaskActions } from "#ui/app/useTaskActions.tsx";
import { stateOf, stepsFrom } from "#ui/domain/steps.ts";
import { useAction } from "../useAction.ts";

export function Step({ task, state }: { task: Task; state: State }) {
  const { t } = useTranslation();
  const action = useAction();
  const view = useOp("project_workflow_get", { project_id: task.project_id }).data;
  const actionsOf = useTaskActions(view, action.run);
  if (!view) return null;
  const actions = actionsOf(task);
  const steps = stepsFrom(state, view.moves);
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
                onClick={moveTo(actions, to)?.onSelect}
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
          <TaskQuestions questions={actions.questions} />
        </Stack>
      }
    >
      {t(steps.length > 0 ? "task.step.text" : "task.step.none")}
    </Banner>
  );
}
