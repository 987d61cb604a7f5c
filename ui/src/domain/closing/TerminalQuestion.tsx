import { useTranslation } from "react-i18next";
import { useStore } from "zustand";
import { AlertDialog } from "#ui/components/AlertDialog.tsx";
import { terminalQuestion } from "./endTerminals.ts";

/** Asks whether programs in terminals end, whose task is closed, reset or deleted, or whose worktree or project goes. */
export function TerminalQuestion() {
  const { t } = useTranslation();
  const asked = useStore(terminalQuestion, (state) => state.asked);
  if (!asked) return null;
  return (
    <AlertDialog
      open
      onOpenChange={(open) => open || asked.answer(false)}
      title={t("terminal.closeTask")}
      description={t("terminal.closeTaskText", { why: `${asked.why}.` })}
      confirmLabel={t("terminal.closeTaskConfirm")}
      danger
      onConfirm={() => asked.answer(true)}
    />
  );
}
