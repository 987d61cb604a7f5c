import { CirclePlay, Lightbulb } from "lucide-react";
import type { KeyboardEvent } from "react";
import { useTranslation } from "react-i18next";
import { priorityLevels, priorityNumber, type PriorityLevel } from "#ui/domain/priority.ts";
import { navigate } from "#ui/app/router.ts";
import { InnerLoopLink } from "#ui/app/InnerLoopLink.tsx";
import { RaceFields } from "#ui/domain/race/RaceFields.tsx";
import { projectsRace } from "#ui/domain/race/strategies.ts";
import { RunsOnField } from "#ui/domain/machines/RunsOnField.tsx";
import { useInherited, useMachines } from "#ui/domain/machines/useMachines.ts";
import { useOp, useOpMutation } from "#ui/api/client.ts";
import { findingAt, restOf } from "#ui/api/findings.ts";
import { Avatar } from "#ui/components/Avatar.tsx";
import { Banner } from "#ui/components/Banner.tsx";
import { Button } from "#ui/components/Button.tsx";
import { Checkbox } from "#ui/components/Checkbox.tsx";
import { Dialog } from "#ui/components/Dialog.tsx";
import { PriorityGlyph } from "#ui/components/PriorityGlyph.tsx";
import { Select, type SelectOption } from "#ui/components/Select.tsx";
import { TextArea, TextField } from "#ui/components/TextField.tsx";
import { showToast } from "#ui/components/Toast.tsx";
import { setPreference, usePreference } from "#ui/store/preferences.ts";
import { nobody, presetAgent, toInput, toLines } from "./draft.ts";
import { Dependencies, Kinship } from "./Relations.tsx";
import { useNewTask } from "./useNewTask.ts";
import { Stack } from "#ui/components/Stack.tsx";
import layout from "#ui/components/layout.module.css";
import styles from "./NewTaskDialog.module.css";

const fields = [
  "title",
  "description",
  "review_config",
  "depends_on",
  "priority",
  "parent_id",
  "execution_mode",
  "machines",
  "race",
];

/** The roles that a task of this workflow can be given: who works, who judges. */
function useRoles(projectId: string) {
  const view = useOp("project_workflow_get", { project_id: projectId }).data;
  const gate = view?.workflow.states.find(({ kind, role }) => kind === "gate" && role);
  return {
    work: view?.work_role ?? null,
    review: gate?.role && gate.role !== view?.work_role ? gate.role : null,
  };
}

export default function NewTaskDialog({
  projectId,
  onClose,
}: {
  projectId: string;
  onClose: () => void;
}) {
  const { t } = useTranslation();
  const agents = useOp("agent_list", {}).data?.items;
  const lastAgent = usePreference("lastAgent");
  const roles = useRoles(projectId);
  const { form, set, isBegun, drop } = useNewTask(projectId);
  const { title, description, reviewer, priority, dependsOn, part, checks, machines, race } = form;
  const agent = form.agent ?? presetAgent(agents ?? [], lastAgent);

  const inherited = useInherited(projectId, agent);
  // Whoever writes a first task sees what a good one says.
  const board = useOp("project_board", { project_id: projectId }).data;
  const isFirst = board?.columns.every(({ count }) => count === 0) ?? false;
  const wantsExample = isFirst && title === "" && description === "";
  const hasMachines = useMachines().length > 0 || inherited.labels.length > 0;
  const inTurn = part?.mode === "ordered_turn";
  const holders = (none: string): SelectOption<string>[] => [
    { value: nobody, label: none },
    { value: "user", label: t("newTask.you") },
    ...(agents ?? []).map(({ id, name, paused }) => ({
      value: id,
      label: name,
      icon: <Avatar name={name} size={16} />,
      ...(paused ? { note: t("agents.paused") } : {}),
    })),
  ];

  const claim = useOpMutation("task_claim", {
    onError: (error) =>
      showToast({ tone: "danger", title: t("newTask.notStarted"), detail: error.message }),
  });
  const create = useOpMutation("task_create");
  const submit = (start: boolean) => {
    if (create.isPending || title.trim() === "") return;
    const input = toInput(
      projectId,
      {
        title,
        description,
        reviewer,
        priority,
        agent,
        checks: checks === null ? null : toLines(checks),
        dependsOn: dependsOn.map(({ id }) => id),
        part,
        machines,
        race: inTurn ? null : race,
      },
      roles,
    );
    create.mutate(input, {
      onSuccess: (task) => {
        drop();
        setPreference("lastAgent", agent === nobody ? null : agent);
        if (start) claim.mutate({ task_id: task.id, agent_id: agent, version: task.version });
        showToast({
          tone: "success",
          title: t("newTask.created", { number: task.number }),
          action: {
            label: t("newTask.open"),
            onSelect: () =>
              navigate("board", { project: projectId }, { task: String(task.number) }),
          },
        });
        onClose();
      },
    });
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    submit(event.shiftKey && agent !== nobody && !inTurn);
  };

  const shown = [roles.work, roles.review].flatMap((role) => (role ? [`roles.${role}`] : []));
  const loop = useOp("project_inner_loop", { project_id: projectId }, { enabled: race !== null });
  const isOff = race !== null && !inTurn && loop.data?.config.competitive?.enabled === false;
  const rest = restOf(create.error, [...fields, ...shown]);
  return (
    <Dialog
      open
      size="lg"
      onOpenChange={(open) => !open && onClose()}
      title={t("newTask.title")}
      actions={
        <>
          {isBegun && (
            <Button
              variant="ghost"
              onClick={() => {
                drop();
                onClose();
              }}
            >
              {t("newTask.discard")}
            </Button>
          )}
          <Button
            icon={<CirclePlay />}
            // One that runs in turn is started by its parent.
            disabled={agent === nobody || title.trim() === "" || inTurn}
            busy={create.isPending}
            keys="mod+shift+enter"
            onClick={() => submit(true)}
          >
            {t("newTask.createAndStart")}
          </Button>
          <Button
            variant="primary"
            disabled={title.trim() === ""}
            busy={create.isPending}
            keys="mod+enter"
            onClick={() => submit(false)}
          >
            {t("newTask.create")}
          </Button>
        </>
      }
    >
      {/* The keys work in every field of the form. */}
      {/* oxlint-disable-next-line jsx-a11y/no-static-element-interactions */}
      <Stack gap={4} onKeyDown={onKeyDown}>
        {rest && (
          <Banner tone="danger" title={t("newTask.failed")}>
            {rest}
          </Banner>
        )}
        {wantsExample && (
          <div className={styles.example}>
            <p className={layout.note}>{t("newTask.exampleText")}</p>
            <Button
              size="sm"
              icon={<Lightbulb />}
              onClick={() =>
                set({
                  title: t("newTask.example.title"),
                  description: t("newTask.example.description"),
                })
              }
            >
              {t("newTask.useExample")}
            </Button>
          </div>
        )}
        <TextField
          label={t("newTask.name")}
          autoFocus
          value={title}
          error={findingAt(create.error, "title")}
          onChange={(next) => set({ title: next })}
        />
        <TextArea
          label={t("newTask.description")}
          hint={t("newTask.descriptionHint")}
          rows={6}
          value={description}
          error={findingAt(create.error, "description")}
          onChange={(next) => set({ description: next })}
        />
        <div className={styles.row}>
          <Select
            label={t("newTask.agent")}
            value={agent}
            error={roles.work ? findingAt(create.error, `roles.${roles.work}`) : undefined}
            options={holders(t("newTask.noAgent"))}
            onChange={(next) => set({ agent: next })}
          />
          {roles.review && (
            <Select
              label={t("newTask.reviewer")}
              value={reviewer}
              error={findingAt(create.error, `roles.${roles.review}`)}
              options={holders(t("newTask.noReviewer"))}
              onChange={(next) => set({ reviewer: next })}
            />
          )}
          <Select<PriorityLevel>
            label={t("newTask.priority")}
            value={priority}
            options={priorityLevels.map((level) => ({
              value: level,
              label: t(`board.priority.${level}`),
              icon: <PriorityGlyph level={priorityNumber(level) as 0} label="" />,
            }))}
            onChange={(next) => set({ priority: next })}
          />
        </div>
        {agents?.length === 0 && <p className={layout.note}>{t("newTask.addAgentFirst")}</p>}
        <div className={styles.pair}>
          <Dependencies
            projectId={projectId}
            chosen={dependsOn}
            error={findingAt(create.error, "depends_on")}
            onChange={(next) => set({ dependsOn: next })}
          />
          <Kinship
            projectId={projectId}
            part={part}
            errors={{
              parent: findingAt(create.error, "parent_id"),
              mode: findingAt(create.error, "execution_mode"),
            }}
            onChange={(next) => set({ part: next })}
          />
        </div>
        {hasMachines && !inTurn && (
          <RunsOnField
            value={machines}
            inherited={{ from: t("runsOn.fromAgentOrProject"), labels: inherited.labels }}
            error={findingAt(create.error, "machines")}
            onChange={(next) => set({ machines: next })}
          />
        )}
        <Checkbox
          label={t("newTask.ownChecks")}
          hint={t("newTask.ownChecksHint")}
          checked={checks !== null}
          onChange={(on) => set({ checks: on ? "" : null })}
        />
        {checks !== null && (
          <TextArea
            label={t("newTask.checks")}
            hint={t("newTask.checksHint")}
            mono
            value={checks}
            error={findingAt(create.error, "review_config")}
            onChange={(next) => set({ checks: next })}
          />
        )}
        {!inTurn && (
          <Checkbox
            label={t("newTask.race")}
            hint={t("race.settingHint")}
            checked={race !== null}
            onChange={(on) => set({ race: on ? projectsRace : null })}
          />
        )}
        {isOff && (
          <p className={layout.note} role="status">
            {t("race.disabled")} <InnerLoopLink projectId={projectId} />
          </p>
        )}
        {race !== null && !inTurn && !isOff && (
          <RaceFields
            projectId={projectId}
            draft={race}
            onChange={(next) => set({ race: next })}
            error={create.error}
          />
        )}
      </Stack>
    </Dialog>
  );
}
