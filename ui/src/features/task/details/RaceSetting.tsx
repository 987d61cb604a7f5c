/** Whether the task is raced, and by whom: the project's word, or the task's own. */
import { Pencil } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useOp } from "#ui/api/client.ts";
import type { Strategy, Task, TaskRace } from "#ui/api/generated.ts";
import { Estimate } from "#ui/domain/race/Estimate.tsx";
import { InnerLoopLink } from "#ui/app/InnerLoopLink.tsx";
import { RaceFields } from "#ui/domain/race/RaceFields.tsx";
import { draftOf, isOwn, raceOf, type RaceDraft } from "#ui/domain/race/strategies.ts";
import { Badge } from "#ui/components/Badge.tsx";
import { Button } from "#ui/components/Button.tsx";
import { Dialog } from "#ui/components/Dialog.tsx";
import { IconButton } from "#ui/components/IconButton.tsx";
import { Switch } from "#ui/components/Switch.tsx";
import { restOf } from "#ui/api/findings.ts";
import { Banner } from "#ui/components/Banner.tsx";
import { ActionError } from "../ActionError.tsx";
import { useAgentNames } from "../useAgentNames.ts";
import { useAction, type Action } from "../useAction.ts";
import { Stack } from "#ui/components/Stack.tsx";
import layout from "#ui/components/layout.module.css";
import styles from "./Details.module.css";

const fields = ["race.strategies", "race.maxParallel", "race.timeoutSec", "race.humanCrown"];

function ConfigureDialog({
  task,
  action,
  onSave,
  onClose,
}: {
  task: Task;
  action: Action;
  onSave: (race: TaskRace) => Promise<boolean>;
  onClose: () => void;
}) {
  const { t } = useTranslation();
  const [draft, setDraft] = useState<RaceDraft>(() => draftOf(task.race));
  const save = async () => {
    if (await onSave(raceOf(draft))) onClose();
  };
  const rest = restOf(action.error, fields);
  return (
    <Dialog
      open
      size="lg"
      onOpenChange={(open) => !open && onClose()}
      title={t("race.configureTitle")}
      description={t("race.configureText")}
      actions={
        <Button variant="primary" busy={action.busy !== null} onClick={() => void save()}>
          {t("race.save")}
        </Button>
      }
    >
      {rest && (
        <Banner tone="danger" title={t("race.saveFailed")}>
          {rest}
        </Banner>
      )}
      <RaceFields
        projectId={task.project_id}
        draft={draft}
        onChange={setDraft}
        error={action.error}
      />
    </Dialog>
  );
}

function Racers({ strategies }: { strategies: readonly Strategy[] }) {
  const { t } = useTranslation();
  const names = useAgentNames();
  if (strategies.length === 0) return <p className={layout.faint}>{t("race.settingEvery")}</p>;
  return (
    <ul className={styles.steps} aria-label={t("race.strategies")} data-selectable>
      {strategies.map(({ name, agent_id: agent, model, effort }) => (
        <li key={name}>
          <code>{name}</code>{" "}
          <span className={layout.faint}>
            {[names.get(agent) ?? t("race.agentGone"), model, effort].filter(Boolean).join(" · ")}
          </span>
        </li>
      ))}
    </ul>
  );
}

export function RaceSetting({ task }: { task: Task }) {
  const { t } = useTranslation();
  const action = useAction();
  const [open, setOpen] = useState(false);
  const loop = useOp("project_inner_loop", { project_id: task.project_id }).data;
  const enabled = task.race?.enabled === true;
  const own = isOwn(task.race);
  const keep = async (race: TaskRace | null): Promise<boolean> => {
    const done = await action.run("task_update", {
      task_id: task.id,
      version: task.version,
      race,
    });
    return done !== null;
  };
  const toggle = (on: boolean) =>
    // What the task says of its own is kept for the next time.
    void keep(on || own ? { ...task.race, enabled: on } : null);
  const isOff =
    action.error?.code === "race_disabled" || loop?.config.competitive?.enabled === false;
  return (
    <Stack gap={2}>
      <h3 className={styles.heading}>
        {t("race.setting")}
        {enabled && (
          <>
            <Badge look="outline">{t(own ? "race.settingOwn" : "race.settingProject")}</Badge>
            <IconButton
              label={t("race.configure")}
              icon={<Pencil />}
              size="sm"
              onClick={() => {
                action.dismiss();
                setOpen(true);
              }}
            />
          </>
        )}
      </h3>
      <Switch
        label={t("race.settingHint")}
        checked={enabled}
        disabled={action.busy !== null}
        onChange={toggle}
      />
      {enabled && !isOff && (
        <Racers strategies={task.race?.strategies ?? loop?.config.competitive?.strategies ?? []} />
      )}
      {loop?.config.competitive?.enabled === true && (
        <p className={layout.faint}>
          <Estimate taskId={task.id} />
        </p>
      )}
      {isOff && (enabled || action.error !== null) ? (
        <p className={layout.faint} role="status">
          {t("race.disabled")} <InnerLoopLink projectId={task.project_id} />
        </p>
      ) : (
        !open && (
          <ActionError
            title={t("race.saveFailed")}
            error={action.error}
            onDismiss={action.dismiss}
          />
        )
      )}
      {open && (
        <ConfigureDialog
          task={task}
          action={action}
          onSave={keep}
          onClose={() => {
            action.dismiss();
            setOpen(false);
          }}
        />
      )}
    </Stack>
  );
}
