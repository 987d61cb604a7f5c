import { useEffect } from "react";
import { useTranslation } from "react-i18next";
import type { Task } from "#ui/api/generated.ts";
import { Countdown } from "#ui/components/Elapsed.tsx";
import { closeToast, showToast } from "#ui/components/Toast.tsx";
import { forgetUndo, rememberUndo } from "#ui/domain/undo/undo.ts";
import { undo, undoStart } from "./actions.ts";
import { useActing } from "./useActing.ts";

/** The toast of a waiting start, by task and moment, so that each is offered once. */
const offered = new Map<string, { readonly until: string; readonly toast: string }>();

const startOf = (task: string): string => `start:${task}`;

/** Whoever dragged a card to an agent can take it back until the agent starts. */
export function useUndoToasts(items: readonly Task[]): void {
  const { t } = useTranslation();
  const acting = useActing();
  useEffect(() => {
    for (const task of items) {
      const until = task.waiting?.reason === "undo" ? task.waiting.until : null;
      const known = offered.get(task.id);
      if (known && known.until !== until) {
        closeToast(known.toast);
        forgetUndo(startOf(task.id));
        offered.delete(task.id);
      }
      const left = until === null ? 0 : Date.parse(until) - Date.now();
      if (until === null || left <= 0 || offered.has(task.id)) continue;
      const title = t("board.undo.title", { number: task.number });
      rememberUndo({ id: startOf(task.id), title, undo: () => undoStart(acting, task) });
      const toast = showToast({
        title,
        detail: (
          <>
            {t("board.undo.detail")} <Countdown until={until} />
          </>
        ),
        timeout: left,
        action: {
          label: t("board.undo.action"),
          onSelect: () => {
            forgetUndo(startOf(task.id));
            void undo(acting, task);
          },
        },
      });
      offered.set(task.id, { until, toast });
    }
  }, [items, acting, t]);
}
