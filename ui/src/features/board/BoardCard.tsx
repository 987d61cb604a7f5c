import { memo } from "react";
import { useTranslation } from "react-i18next";
import type { Machine, Task } from "#ui/api/generated.ts";
import { contactWords } from "#ui/domain/machines/useMachines.ts";
import type { KnownState } from "#ui/domain/useStates.ts";
import { rename } from "./actions.ts";
import { CardFace } from "./Card.tsx";
import { agentOf, lineOf, lineTone } from "./format.ts";
import { useBoard } from "./model.ts";
import { useActing } from "./useActing.ts";
import styles from "./Card.module.css";

/** Names by id; `user` is not among them. */
export type AgentNames = ReadonlyMap<string, string>;

export interface BoardCardProps {
  readonly task: Task;
  readonly state: KnownState | undefined;
  readonly agents: AgentNames;
  /** Where its worktree is; absent on this computer. */
  readonly machine: Machine | undefined;
  readonly workRole: string | null;
  readonly showState: boolean;
  readonly open: boolean;
}

export const instructionsId = "board-instructions";

/** A card in its place. The board listens for its clicks and keys. */
export const BoardCard = memo(function BoardCard({
  task,
  state,
  agents,
  machine,
  workRole,
  showState,
  open,
}: BoardCardProps) {
  const { t } = useTranslation();
  const acting = useActing();
  const focused = useBoard((board) => board.focused === task.id);
  const selected = useBoard((board) => board.selected.has(task.id));
  const lifted = useBoard((board) => board.drag?.ids.has(task.id) ?? false);
  const editing = useBoard((board) => board.editing === task.id);
  const holder = agentOf(task, workRole);
  const agent = holder === "user" ? t("board.you") : holder && (agents.get(holder) ?? holder);
  const tone = lineTone(lineOf(task, state));
  const onRename = editing
    ? (title: string | null) => {
        acting.model.state.setState({ editing: null });
        acting.model.focusCard(task.id);
        if (title !== null) void rename(acting, task, title);
      }
    : undefined;
  const face = (
    <CardFace
      task={task}
      state={state}
      agent={agent}
      machine={machine}
      showState={showState}
      onRename={onRename}
    />
  );
  const looks = {
    className: styles.card,
    "data-task": task.id,
    "data-open": open || undefined,
    "data-selected": selected || undefined,
    "data-lifted": lifted || undefined,
    "data-pressing": tone === "danger" || tone === "warning" ? tone : undefined,
  };
  const said = t("board.cardLabel", {
    number: task.number,
    title: task.title,
    state: state?.display_name ?? task.status,
  });
  const card = task.issue?.differs ? t("board.cardDiffers", { card: said }) : said;
  // While its title is typed it is not a button: a text box inside of one could not be reached.
  if (editing) return <div {...looks}>{face}</div>;
  return (
    <div
      {...looks}
      role="button"
      tabIndex={focused ? 0 : -1}
      aria-pressed={selected}
      aria-roledescription={t("board.card")}
      aria-describedby={instructionsId}
      // A button's own text is all that is read of it.
      aria-label={
        machine
          ? t("board.cardOn", { card, machine: machine.name, contact: contactWords(machine, t) })
          : card
      }
    >
      {face}
    </div>
  );
});
