/** Asks what becomes of work that is not merged before its task is closed. */
import { useTranslation } from "react-i18next";
import type { Task } from "#ui/api/generated.ts";
import { AlertDialog } from "#ui/components/AlertDialog.tsx";
import { hasUnmergedWork } from "./closing.ts";

export interface CloseQuestionProps {
  /** Empty while nothing is asked. */
  readonly tasks: readonly Task[];
  /** Whether an agent or checks are stopped by what is asked about, beside these tasks, too. */
  readonly stops?: boolean;
  /** Null where the workflow has no way to a merge from here. */
  readonly onMerge: (() => void) | null;
  readonly onClose: () => void;
  readonly onCancel: () => void;
}

export function CloseQuestion({
  tasks,
  stops = tasks.some(({ live }) => live !== null),
  onMerge,
  onClose,
  onCancel,
}: CloseQuestionProps) {
  const { t } = useTranslation();
  const unmerged = tasks.filter(hasUnmergedWork);
  const [first] = unmerged;
  const commits = unmerged.reduce((sum, task) => sum + task.unmerged_commits, 0);
  const close = { label: t("closing.close"), onSelect: onClose };
  return (
    <AlertDialog
      open={first !== undefined}
      onOpenChange={(open) => {
        if (!open) onCancel();
      }}
      title={t("closing.title", { count: unmerged.length, number: first?.number ?? 0 })}
      description={
        <>
          {commits > 0 ? t("closing.commits", { count: commits }) : t("closing.changes")}{" "}
          {stops && t("closing.stops")}
        </>
      }
      {...(onMerge
        ? { confirmLabel: t("closing.merge"), onConfirm: onMerge, other: close }
        : { confirmLabel: close.label, onConfirm: onClose })}
    />
  );
}
