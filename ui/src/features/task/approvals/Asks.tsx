/** The questions of a task's agent that wait, at the live end of its conversation. */
import { MessageCircleQuestion } from "lucide-react";
import { useEffect, useMemo } from "react";
import { useTranslation } from "react-i18next";
import { useCommands, type Command } from "#ui/app/keys.ts";
import { useOp } from "#ui/api/client.ts";
import type { Approval } from "#ui/api/generated.ts";
import { showToast } from "#ui/components/Toast.tsx";
import { showTab } from "../go.ts";
import { Ask } from "./Ask.tsx";
import styles from "./Ask.module.css";

const none: readonly Approval[] = [];

/** Everything that was asked for a task, answered or not. */
export function useApprovals(task: string, enabled = true) {
  const read = useOp("approval_list", { task_id: task, all: true }, { enabled });
  const all = read.data?.items ?? none;
  const pending = useMemo(() => all.filter(({ status }) => status === "pending"), [all]);
  return { all, pending, refetch: read.refetch };
}

/** Whether the first question that appears shall have the focus; over with whatever the person does next. */
let isWanted = false;

function forget() {
  isWanted = false;
}

function takeFocus() {
  const first = isWanted ? document.querySelector<HTMLElement>("[data-ask]") : null;
  if (!first) return;
  forget();
  first.focus();
}

/** Puts the focus on the first question, where its keys work: in the conversation, or in the race whose entry asks. */
export function focusAsk(tab: "conversation" | "race"): void {
  showTab(tab);
  isWanted = true;
  requestAnimationFrame(() => {
    takeFocus();
    // The tab may have to be loaded and read first.
    if (!isWanted) return;
    addEventListener("pointerdown", forget, { once: true });
    addEventListener("keydown", forget, { once: true });
  });
}

export interface AsksProps {
  readonly pending: readonly Approval[];
  readonly names: ReadonlyMap<string, string>;
  /** Where they are shown. */
  readonly tab?: "conversation" | "race";
  readonly onStale: () => void;
}

export function Asks({ pending, names, tab = "conversation", onStale }: AsksProps) {
  const { t } = useTranslation();
  const commands = useMemo(
    (): Command[] => [
      {
        id: "task.answer",
        label: t("approvals.go"),
        group: t("nav.task"),
        keys: ["q"],
        icon: <MessageCircleQuestion />,
        enabled: pending.length > 0,
        run: () => focusAsk(tab),
      },
    ],
    [t, tab, pending.length],
  );
  useCommands(commands);
  useEffect(takeFocus, [pending]);
  if (pending.length === 0) return null;
  return (
    <div className={styles.asks} role="region" aria-label={t("approvals.waiting")}>
      {pending.map((approval) => (
        <Ask
          key={approval.id}
          approval={approval}
          agent={names.get(approval.agent_id)}
          onStale={(message) => {
            showToast({ tone: "warning", title: t("approvals.stale"), detail: message });
            onStale();
          }}
        />
      ))}
    </div>
  );
}
