import { CirclePlay, X } from "lucide-react";
import { useState, type KeyboardEvent } from "react";
import { useTranslation } from "react-i18next";
import { priorityLevels, priorityNumber, type PriorityLevel } from "#ui/domain/priority.ts";
import { navigate } from "#ui/app/router.ts";
import { InnerLoopLink } from "#ui/app/InnerLoopLink.tsx";
import { RaceFields } from "#ui/domain/race/RaceFields.tsx";
import { projectsRace, type RaceDraft } from "#ui/domain/race/strategies.ts";
import { RunsOnField } from "#ui/domain/machines/RunsOnField.tsx";
import { useInherited, useMachines } from "#ui/domain/machines/useMachines.ts";
import { TaskPicker } from "#ui/domain/TaskPicker.tsx";
import { useOp, useOpMutation } from "#ui/api/client.ts";
import { findingAt, restOf } from "#ui/api/findings.ts";
import type { ExecutionMode, Task } from "#ui/api/generated.ts";
import { Avatar } from "#ui/components/Avatar.tsx";
import { Banner } from "#ui/components/Banner.tsx";
import { Button } from "#ui/components/Button.tsx";
import { Checkbox } from "#ui/components/Checkbox.tsx";
import { Dialog } from "#ui/components/Dialog.tsx";
import { IconButton } from "#ui/components/IconButton.tsx";
import { PriorityGlyph } from "#ui/components/PriorityGlyph.tsx";
import { SegmentedControl } from "#ui/components/SegmentedControl.tsx";
import { Select, type SelectOption } from "#ui/components/Select.tsx";
import { TextArea, TextField } from "#ui/components/TextField.tsx";
import { showToast } from "#ui/components/Toast.tsx";
import { setPreference, usePreference } from "#ui/store/preferences.ts";
import { nobody, presetAgent, toInput, toLines, type Draft, type Part } from "./draft.ts";
import { Stack } from "#ui/components/Stack.tsx";
import { Truncate } from "#ui/components/Truncate.tsx";
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

function Chosen({ task, label, onRemove }: { task: Task; label: string; onRemove: () => void }) {
  return (
    <li>
      <span className={styles.number}>#{task.number}</span>
      <Truncate fill>{task.title}</Truncate>
      <IconButton size="sm" label={label} icon={<X />} onClick={onRemove} />
    </li>
  );
}

function Dependencies({
  projectId,
  chosen,
  error,
  onChange,
}: {
  projectId: string;
  chosen: readonly Task[];
  error: string | undefined;
  onChange: (chosen: readonly Task[]) => void;
}) {
  const { t } = useTranslation();
  return (
    <Stack gap={1}>
      <TaskPicker
        key={chosen.length}
        projectId={projectId}
        label={t("newTask.dependsOn")}
        placeholder={t("newTask.dependsOnPlaceholder")}
        accepts={({ id }, state) =>
          state?.kind !== "terminal" && chosen.every((each) => each.id !== id)
        }
        onPick={(found) => found && onChange([...chosen, found])}
      />
      {error && <p className={layout.error}>{error}</p>}
      {chosen.length > 0 && (
        <ul className={styles.chosen}>
          {chosen.map((task) => (
            <Chosen
              key={task.id}
              task={task}
              label={t("newTask.removeDependency", { number: task.number })}
              onRemove={() => onChange(chosen.filter(({ id }) => id !== task.id))}
            />
          ))}
        </ul>
      )}
    </Stack>
  );
}

/** What the new task is part of, and where it works then. */
function Kinship({
  projectId,
  part,
  errors,
  onChange,
}: {
  projectId: string;
  part: Part | null;
  errors: { readonly parent: string | undefined; readonly mode: string | undefined };
  onChange: (part: Part | null) => void;
}) {
  const { t } = useTranslation();
  const wrong = errors.parent ?? errors.mode;
  return (
    <Stack gap={1}>
      {part ? (
        <>
          <span className={styles.label}>{t("newTask.parent")}</span>
          <ul className={styles.chosen}>
            <Chosen
              task={part.parent}
              label={t("newTask.noParent")}
              onRemove={() => onChange(null)}
            />
          </ul>
          <SegmentedControl<ExecutionMode>
            label={t("newTask.mode")}
            value={part.mode}
            segments={(["independent", "ordered_turn"] as const).map((mode) => ({
              value: mode,
              label: t(`subtasks.mode.${mode}`),
            }))}
            onChange={(mode) => onChange({ ...part, mode })}
          />
          <p className={layout.note}>{t(`subtasks.modeText.${part.mode}`)}</p>
        </>
      ) : (
        <TaskPicker
          projectId={projectId}
          label={t("newTask.parent")}
          placeholder={t("newTask.parentPlaceholder")}
          // One level: a part has no parts of its own.
          accepts={({ parent_id: parent }, state) => parent === null && state?.kind !== "terminal"}
          onPick={(parent) => parent && onChange({ parent, mode: "independent" })}
        />
      )}
      {wrong && <p className={layout.error}>{wrong}</p>}
    </Stack>
  );
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
  const [draft, setDraft] = useState<
    Omit<Draft, "agent" | "dependsOn" | "checks" | "part" | "race" | "machines">
  >({
    title: "",
    description: "",
    reviewer: nobody,
    priority: "none",
  });
  const [chosenAgent, setAgent] = useState<string | null>(null);
  const [dependsOn, setDependsOn] = useState<readonly Task[]>([]);
  const [part, setPart] = useState<Part | null>(null);
  const [ownChecks, setOwnChecks] = useState(false);
  const [checks, setChecks] = useState("");
  const [machines, setMachines] = useState<readonly string[] | null>(null);
  const [race, setRace] = useState<RaceDraft | null>(null);
  const agent = chosenAgent ?? presetAgent(agents ?? [], lastAgent);

  const inherited = useInherited(projectId, agent);
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
    if (create.isPending || draft.title.trim() === "") return;
    const input = toInput(
      projectId,
      {
        ...draft,
        agent,
        checks: ownChecks ? toLines(checks) : null,
        dependsOn: dependsOn.map(({ id }) => id),
        part,
        machines,
        race: inTurn ? null : race,
      },
      roles,
    );
    create.mutate(input, {
      onSuccess: (task) => {
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
          <Button
            icon={<CirclePlay />}
            // One that runs in turn is started by its parent.
            disabled={agent === nobody || draft.title.trim() === "" || inTurn}
            busy={create.isPending}
            keys="mod+shift+enter"
            onClick={() => submit(true)}
          >
            {t("newTask.createAndStart")}
          </Button>
          <Button
            variant="primary"
            disabled={draft.title.trim() === ""}
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
        <TextField
          label={t("newTask.name")}
          autoFocus
          value={draft.title}
          error={findingAt(create.error, "title")}
          onChange={(title) => setDraft({ ...draft, title })}
        />
        <TextArea
          label={t("newTask.description")}
          hint={t("newTask.descriptionHint")}
          rows={6}
          value={draft.description}
          error={findingAt(create.error, "description")}
          onChange={(description) => setDraft({ ...draft, description })}
        />
        <div className={styles.row}>
          <Select
            label={t("newTask.agent")}
            value={agent}
            error={roles.work ? findingAt(create.error, `roles.${roles.work}`) : undefined}
            options={holders(t("newTask.noAgent"))}
            onChange={setAgent}
          />
          {roles.review && (
            <Select
              label={t("newTask.reviewer")}
              value={draft.reviewer}
              error={findingAt(create.error, `roles.${roles.review}`)}
              options={holders(t("newTask.noReviewer"))}
              onChange={(reviewer) => setDraft({ ...draft, reviewer })}
            />
          )}
          <Select<PriorityLevel>
            label={t("newTask.priority")}
            value={draft.priority}
            options={priorityLevels.map((level) => ({
              value: level,
              label: t(`board.priority.${level}`),
              icon: <PriorityGlyph level={priorityNumber(level) as 0} label="" />,
            }))}
            onChange={(priority) => setDraft({ ...draft, priority })}
          />
        </div>
        {agents?.length === 0 && <p className={layout.note}>{t("newTask.addAgentFirst")}</p>}
        <div className={styles.pair}>
          <Dependencies
            projectId={projectId}
            chosen={dependsOn}
            error={findingAt(create.error, "depends_on")}
            onChange={setDependsOn}
          />
          <Kinship
            projectId={projectId}
            part={part}
            errors={{
              parent: findingAt(create.error, "parent_id"),
              mode: findingAt(create.error, "execution_mode"),
            }}
            onChange={setPart}
          />
        </div>
        {hasMachines && !inTurn && (
          <RunsOnField
            value={machines}
            inherited={{ from: t("runsOn.fromAgentOrProject"), labels: inherited.labels }}
            error={findingAt(create.error, "machines")}
            onChange={setMachines}
          />
        )}
        <Checkbox
          label={t("newTask.ownChecks")}
          hint={t("newTask.ownChecksHint")}
          checked={ownChecks}
          onChange={setOwnChecks}
        />
        {ownChecks && (
          <TextArea
            label={t("newTask.checks")}
            hint={t("newTask.checksHint")}
            mono
            value={checks}
            error={findingAt(create.error, "review_config")}
            onChange={setChecks}
          />
        )}
        {!inTurn && (
          <Checkbox
            label={t("newTask.race")}
            hint={t("race.settingHint")}
            checked={race !== null}
            onChange={(on) => setRace(on ? projectsRace : null)}
          />
        )}
        {isOff && (
          <p className={layout.note} role="status">
            {t("race.disabled")} <InnerLoopLink projectId={projectId} />
          </p>
        )}
        {race !== null && !inTurn && !isOff && (
          <RaceFields projectId={projectId} draft={race} onChange={setRace} error={create.error} />
        )}
      </Stack>
    </Dialog>
  );
}
