import { useTranslation } from "react-i18next";
import { AlertDialog } from "#ui/components/AlertDialog.tsx";
import { leavesWork, mergingState } from "#ui/domain/closing/closing.ts";
import { CloseQuestion } from "#ui/domain/closing/CloseQuestion.tsx";
import type { Task } from "#ui/api/generated.ts";
import { moveNow } from "./actions.ts";
import { isBusy } from "./format.ts";
import { useBoard, type MoveWish } from "./model.ts";
import { stateAfter } from "./rules.ts";
import { useActing } from "./useActing.ts";

/** The tasks of a move that would leave their work behind. */
function useLeaving(wish: MoveWish | null) {
  const { model } = useActing();
  const view = model.view();
  const column = model.shown().find((shown) => shown.column.name === wish?.column)?.column;
  if (!wish || !view || !column) return { view, tasks: [] as Task[] };
  const tasks = wish.tasks.filter((task) => leavesWork(view, task, stateAfter(task, column)));
  return { view, tasks };
}

/** Moving a card away from its running agent or checks stops them, closing it may leave its work behind: that is asked first. */
export function AskBeforeMove() {
  const { t } = useTranslation();
  const acting = useActing();
  const wish = useBoard((state) => state.asking);
  const { view, tasks: leaving } = useLeaving(wish);
  const close = () => {
    acting.model.state.setState({ asking: null });
    const { focused } = acting.model.state.getState();
    if (focused !== null) requestAnimationFrame(() => acting.model.focusCard(focused));
  };
  const go = (change: Partial<MoveWish> = {}) => {
    close();
    if (wish) void moveNow(acting, { ...wish, ...change });
  };
  const merging = view && mergingState(view, leaving);
  const merge = () => {
    const state = view?.workflow.states.find(({ name }) => name === merging);
    if (!state || !wish) return;
    const others = wish.tasks.filter((task) => !leaving.includes(task));
    go({ tasks: leaving, column: state.column, to: state.name, place: {} });
    if (others.length > 0) void moveNow(acting, { ...wish, tasks: others });
  };
  const busy = wish?.tasks.filter(isBusy) ?? [];
  const agent = busy.some(({ live }) => live !== null);
  return (
    <>
      <CloseQuestion
        tasks={leaving}
        stops={busy.length > 0}
        onMerge={merging === null ? null : merge}
        onClose={() => go()}
        onCancel={close}
      />
      <AlertDialog
        open={wish !== null && leaving.length === 0}
        onOpenChange={(open) => !open && close()}
        title={t(agent ? "board.stop.agent" : "board.stop.checks", {
          number: busy[0]?.number ?? 0,
          column: wish?.column ?? "",
        })}
        description={t(agent ? "board.stop.agentText" : "board.stop.checksText")}
        confirmLabel={t("board.stop.confirm")}
        onConfirm={() => go()}
      />
    </>
  );
}
