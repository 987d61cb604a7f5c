import { useTranslation } from "react-i18next";
import { AlertDialog } from "#ui/components/AlertDialog.tsx";
import { moveNow } from "./actions.ts";
import { isBusy } from "./format.ts";
import { useBoard } from "./model.ts";
import { useActing } from "./useActing.ts";

/** Moving a card away from its running agent or checks stops them: that is asked first. */
export function AskBeforeMove() {
  const { t } = useTranslation();
  const acting = useActing();
  const wish = useBoard((state) => state.asking);
  const close = () => {
    acting.model.state.setState({ asking: null });
    const { focused } = acting.model.state.getState();
    if (focused !== null) requestAnimationFrame(() => acting.model.focusCard(focused));
  };
  const busy = wish?.tasks.filter(isBusy) ?? [];
  const agent = busy.some(({ live }) => live !== null);
  return (
    <AlertDialog
      open={wish !== null}
      onOpenChange={(open) => !open && close()}
      title={t(agent ? "board.stop.agent" : "board.stop.checks", {
        number: busy[0]?.number ?? 0,
        column: wish?.column ?? "",
      })}
      description={t(agent ? "board.stop.agentText" : "board.stop.checksText")}
      confirmLabel={t("board.stop.confirm")}
      onConfirm={() => {
        close();
        if (wish) void moveNow(acting, wish);
      }}
    />
  );
}
