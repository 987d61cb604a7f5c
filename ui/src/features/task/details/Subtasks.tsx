/** The task's parts in their order: where each works, how far it is, how its turn was committed. */
import {
  ArrowDown,
  ArrowUp,
  Ellipsis,
  FolderGit2,
  GitCommitHorizontal,
  ListOrdered,
  Plus,
} from "lucide-react";
import { useEffect, useRef, useState, type KeyboardEvent } from "react";
import { useTranslation } from "react-i18next";
import type { ExecutionMode, Task, WorkflowView } from "#ui/api/generated.ts";
import { workingAgent } from "#ui/domain/taskActions.ts";
import { kindOfState } from "#ui/domain/stateKinds.ts";
import { useStates } from "#ui/domain/useStates.ts";
import { Badge } from "#ui/components/Badge.tsx";
import { Button } from "#ui/components/Button.tsx";
import { ErrorState } from "#ui/components/ErrorState.tsx";
import { IconButton } from "#ui/components/IconButton.tsx";
import { Menu, type MenuEntry } from "#ui/components/Menu.tsx";
import { SegmentedControl } from "#ui/components/SegmentedControl.tsx";
import { SkeletonText } from "#ui/components/Skeleton.tsx";
import { StateGlyph } from "#ui/components/StateGlyph.tsx";
import { TextField } from "#ui/components/TextField.tsx";
import { Tooltip } from "#ui/components/Tooltip.tsx";
import { ActionError } from "../ActionError.tsx";
import { movesFrom, stateOf } from "#ui/domain/steps.ts";
import { TaskLink } from "../TaskLink.tsx";
import { useAction, type Action } from "../useAction.ts";
import { inOrder, isOrdered, moved } from "./subtasks.ts";
import { useSubtasks } from "./useSubtasks.ts";
import layout from "#ui/components/layout.module.css";
import styles from "./Subtasks.module.css";

function CommitChip({ part }: { part: Task }) {
  const { t } = useTranslation();
  const result = part.commit_result;
  if (!result) return null;
  const { kind, before, after } = result;
  const range =
    kind === "no_diff" ? "" : `${before?.slice(0, 8) ?? ""}..${after?.slice(0, 8) ?? ""}`;
  return (
    <Tooltip text={`${t(`subtasks.commitText.${kind}`)} ${range}`.trim()}>
      <span>
        <Badge look="outline" icon={<GitCommitHorizontal />}>
          <span className={styles.words}>{t(`subtasks.commit.${kind}`)}</span>
        </Badge>
      </span>
    </Tooltip>
  );
}

/** Where a part may be moved by hand: the ordinary moves; one that runs in turn knows few states. */
function movesOf(
  part: Task,
  view: WorkflowView | undefined,
  go: (to: string) => void,
): MenuEntry[] {
  const workflow = view?.workflow;
  return movesFrom(view?.moves ?? [], part.status)
    .filter((to) => {
      const kind = stateOf(workflow, to)?.kind;
      return !isOrdered(part) || kind === "initial" || kind === "terminal";
    })
    .map((to) => {
      const state = stateOf(workflow, to);
      return {
        id: `move:${to}`,
        label: state?.display_name ?? to,
        icon: <StateGlyph kind={kindOfState(state, workflow?.cancellation_state)} label="" />,
        onSelect: () => go(to),
      };
    });
}

function Part({
  part,
  turn,
  last,
  view,
  action,
  kept,
  onMove,
}: {
  part: Task;
  /** Its place among those that run in turn, from 1; null when it does not. */
  turn: number | null;
  last: number;
  view: WorkflowView | undefined;
  action: Action;
  kept: Kept | null;
  onMove: (by: -1 | 1) => void;
}) {
  const { t } = useTranslation();
  const row = useRef<HTMLLIElement>(null);
  // What had the focus goes on having it, though its row was taken elsewhere.
  useEffect(() => {
    if (!kept || kept.turn !== turn) return;
    const held = [...(row.current?.querySelectorAll<HTMLElement>("a, button") ?? [])];
    (held.find((each) => each.getAttribute("aria-label") === kept.label) ?? held[0])?.focus();
  }, [kept, turn]);
  const go = (to: string) =>
    void action.run("task_transition", {
      task_id: part.id,
      to,
      version: part.version,
      wait: "none",
    });
  const onKeyDown = (event: KeyboardEvent) => {
    if (turn === null || !event.altKey) return;
    const by = event.key === "ArrowUp" ? -1 : event.key === "ArrowDown" ? 1 : null;
    if (by === null) return;
    event.preventDefault();
    event.stopPropagation();
    onMove(by);
  };
  return (
    // The keys are the row's own; each does what a button in it does.
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions
    <li ref={row} className={styles.part} onKeyDown={onKeyDown}>
      <span className={styles.turn}>{turn}</span>
      <TaskLink task={part} />
      <CommitChip part={part} />
      <Tooltip text={t(`subtasks.modeText.${part.execution_mode}`)}>
        <span className={styles.mode}>
          {isOrdered(part) ? <ListOrdered aria-hidden /> : <FolderGit2 aria-hidden />}
          <span className={styles.words}>{t(`subtasks.mode.${part.execution_mode}`)}</span>
        </span>
      </Tooltip>
      <span className={styles.buttons}>
        {turn !== null && (
          <>
            <IconButton
              size="sm"
              label={t("subtasks.up", { number: part.number })}
              keys="alt+arrowup"
              icon={<ArrowUp />}
              disabled={turn === 1}
              focusableWhenDisabled
              onClick={() => onMove(-1)}
            />
            <IconButton
              size="sm"
              label={t("subtasks.down", { number: part.number })}
              keys="alt+arrowdown"
              icon={<ArrowDown />}
              disabled={turn === last}
              focusableWhenDisabled
              onClick={() => onMove(1)}
            />
          </>
        )}
        <Menu
          align="end"
          entries={[
            { kind: "label", id: "to", label: t("task.moveTo") },
            ...movesOf(part, view, go),
          ]}
          trigger={
            <IconButton
              size="sm"
              label={t("subtasks.moveTo", { number: part.number })}
              icon={<Ellipsis />}
            />
          }
        />
      </span>
    </li>
  );
}

function AddPart({
  task,
  mode: first,
  onClose,
}: {
  task: Task;
  mode: ExecutionMode;
  onClose: () => void;
}) {
  const { t } = useTranslation();
  const action = useAction();
  const [title, setTitle] = useState("");
  const [mode, setMode] = useState<ExecutionMode>(first);
  const add = async () => {
    if (title.trim() === "" || action.busy) return;
    const done = await action.run("task_create", {
      project_id: task.project_id,
      title: title.trim(),
      parent_id: task.id,
      execution_mode: mode,
    });
    // The next one is typed at once.
    if (done) setTitle("");
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== "Escape") return;
    event.stopPropagation();
    onClose();
  };
  return (
    <>
      <form
        className={styles.form}
        onSubmit={(event) => {
          event.preventDefault();
          void add();
        }}
      >
        <TextField
          autoFocus
          hideLabel
          label={t("subtasks.title")}
          placeholder={t("subtasks.title")}
          value={title}
          onChange={setTitle}
          onKeyDown={onKeyDown}
        />
        <SegmentedControl<ExecutionMode>
          label={t("subtasks.modeLabel")}
          value={mode}
          segments={(["ordered_turn", "independent"] as const).map((value) => ({
            value,
            label: t(`subtasks.mode.${value}`),
          }))}
          onChange={setMode}
        />
        <Button type="submit" disabled={title.trim() === ""} busy={action.busy !== null}>
          {t("task.add")}
        </Button>
        <p className={styles.hint}>{t(`subtasks.modeText.${mode}`)}</p>
      </form>
      <ActionError title={t("subtasks.notAdded")} error={action.error} onDismiss={action.dismiss} />
    </>
  );
}

/** What had the focus when its row was sent to another place, and which place. */
interface Kept {
  readonly id: string;
  readonly turn: number;
  readonly label: string;
}

function usePlaces(parts: readonly Task[], action: Action) {
  const [kept, setKept] = useState<Kept | null>(null);
  const move = async (id: string, turn: number, by: -1 | 1) => {
    if (action.busy) return;
    setKept({
      id,
      turn: turn + by,
      label: document.activeElement?.getAttribute("aria-label") ?? "",
    });
    for (const { task, order } of moved(parts, id, by)) {
      const done = await action.run("task_update", {
        task_id: task.id,
        version: task.version,
        subtask_order: order,
      });
      if (!done) return;
    }
  };
  return { kept, move };
}

/** The list with its form; what is around it says how far the parts are. */
export function SubtaskList({
  task,
  view,
  adding,
  onAdding,
}: {
  task: Task;
  view: WorkflowView | undefined;
  adding: boolean;
  onAdding: (adding: boolean) => void;
}) {
  const { t } = useTranslation();
  const action = useAction();
  const { total } = task.subtasks;
  const answer = useSubtasks(task);
  const parts = inOrder(answer.data?.items ?? []);
  const ordered = parts.filter(isOrdered);
  const { kept, move } = usePlaces(parts, action);
  const mode: ExecutionMode =
    parts.at(-1)?.execution_mode ??
    (workingAgent(task, view?.work_role) === null ? "independent" : "ordered_turn");
  if (answer.error) {
    return (
      <ErrorState
        title={t("subtasks.failed")}
        error={answer.error}
        onRetry={() => void answer.refetch()}
      />
    );
  }
  if (!answer.data && total > 0) {
    return <SkeletonText lines={Math.min(4, total)} />;
  }
  return (
    <>
      {parts.length > 0 ? (
        <ul className={styles.list} aria-label={t("subtasks.label")}>
          {parts.map((part) => {
            const place = ordered.indexOf(part);
            return (
              <Part
                key={part.id}
                part={part}
                turn={place < 0 ? null : place + 1}
                last={ordered.length}
                view={view}
                action={action}
                kept={kept?.id === part.id ? kept : null}
                onMove={(by) => void move(part.id, place + 1, by)}
              />
            );
          })}
        </ul>
      ) : (
        !adding && <p className={layout.faint}>{t("subtasks.none")}</p>
      )}
      <ActionError
        title={t("subtasks.notChanged")}
        error={action.error}
        onDismiss={action.dismiss}
      />
      {adding && <AddPart key={mode} task={task} mode={mode} onClose={() => onAdding(false)} />}
    </>
  );
}

/** How far the parts are, as a bar and in words. */
export function PartsProgress({ task }: { task: Task }) {
  const { t } = useTranslation();
  const states = useStates(task.project_id);
  const parts = useSubtasks(task).data?.items;
  const total = parts?.length ?? task.subtasks.total;
  const closed = parts
    ? parts.filter(({ status }) => states.get(status)?.kind === "terminal").length
    : task.subtasks.closed;
  return (
    <>
      <span className={styles.progress} aria-hidden>
        <span style={{ width: `${(100 * closed) / Math.max(1, total)}%` }} />
      </span>
      <span className={styles.count}>{t("subtasks.count", { closed, total })}</span>
    </>
  );
}

export function AddButton({ adding, onAdding }: { adding: boolean; onAdding: () => void }) {
  const { t } = useTranslation();
  return (
    <IconButton
      label={t("subtasks.add")}
      icon={<Plus />}
      size="sm"
      pressed={adding}
      onClick={onAdding}
    />
  );
}
