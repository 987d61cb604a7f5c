/** A question of an agent that waits: what it is about, and the answers that may be given. */
import {
  FileDiff,
  KeyRound,
  MessageCircleQuestion,
  SquareTerminal,
  Wrench,
  type LucideIcon,
} from "lucide-react";
import { useMemo, useState, type KeyboardEvent } from "react";
import { useTranslation } from "react-i18next";
import { isTyping } from "#ui/app/keys.ts";
import type { Approval, ApprovalKind, ApprovalOption } from "#ui/api/generated.ts";
import { Button } from "#ui/components/Button.tsx";
import { CodeBlock } from "#ui/components/CodeBlock.tsx";
import { RelativeTime } from "#ui/components/RelativeTime.tsx";
import { TextField } from "#ui/components/TextField.tsx";
import { ActionError } from "../ActionError.tsx";
import { DiffLines } from "../conversation/DiffLines.tsx";
import { miniDiff, pretty } from "../conversation/present.ts";
import { useAction } from "../useAction.ts";
import { askedOf, keyOf, optionFor } from "./asked.ts";
import { Stack } from "#ui/components/Stack.tsx";
import layout from "#ui/components/layout.module.css";
import styles from "./Ask.module.css";

export const askIcons: Readonly<Record<ApprovalKind, LucideIcon>> = {
  command: SquareTerminal,
  file_change: FileDiff,
  tool: Wrench,
  permission: KeyRound,
  question: MessageCircleQuestion,
};

function Subject({ approval }: { approval: Approval }) {
  const { t } = useTranslation();
  const { reason, command, cwd, paths, diff, input } = useMemo(
    () => askedOf(approval.detail),
    [approval.detail],
  );
  const lines = useMemo(() => (diff === null ? [] : miniDiff(diff)), [diff]);
  return (
    <>
      {reason && <p className={layout.prose}>{reason}</p>}
      {command !== null && command !== approval.title && (
        <CodeBlock code={command} maxHeight={160} wrap />
      )}
      {cwd !== null && (
        <p className={styles.where}>
          {t("approvals.in")} <code>{cwd}</code>
        </p>
      )}
      {paths.length > 0 && (
        <ul className={styles.paths}>
          {paths.map((path) => (
            <li key={path}>
              <code>{path}</code>
            </li>
          ))}
        </ul>
      )}
      {lines.length > 0 && (
        <div className={styles.diff}>
          <DiffLines lines={lines} label={t("approvals.change")} />
        </div>
      )}
      {input !== null && approval.kind !== "question" && (
        <CodeBlock caption={t("conversation.input")} code={pretty(input)} maxHeight={180} wrap />
      )}
    </>
  );
}

export interface AskProps {
  readonly approval: Approval;
  readonly agent: string | undefined;
  /** It was answered or withdrawn meanwhile: what is known is to be read again. */
  readonly onStale: (message: string) => void;
}

export function Ask({ approval, agent, onStale }: AskProps) {
  const { t } = useTranslation();
  const [note, setNote] = useState("");
  const action = useAction((error) => {
    if (error.code === "not_awaiting" || error.code === "not_found") onStale(error.message);
  });
  const { options } = approval;
  const Icon = askIcons[approval.kind];
  const sending = action.busy !== null;

  const answer = (option: ApprovalOption) => {
    if (sending) return;
    void action.run("approval_answer", {
      execution_id: approval.execution_id,
      approval_id: approval.id,
      option: option.id,
      ...(note.trim() === "" ? {} : { note: note.trim() }),
    });
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
    const option = optionFor(event.key.toLowerCase(), options);
    if (!option) return;
    event.preventDefault();
    event.stopPropagation();
    answer(option);
  };

  return (
    // Keys answer while the focus is in the card; its buttons do the same.
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions
    <section
      className={styles.ask}
      aria-label={t("approvals.label", { title: approval.title })}
      aria-busy={sending || undefined}
      tabIndex={-1}
      data-ask
      onKeyDown={onKeyDown}
    >
      <header className={styles.head}>
        <Icon aria-hidden />
        <h3 className={styles.kind}>
          {t(`approvals.kind.${approval.kind}`, { agent: agent ?? t("approvals.agent") })}
          {approval.raced && <span className={styles.entry}> {approval.raced.name}</span>}
        </h3>
        <span className={styles.since}>
          <RelativeTime at={approval.asked_at} />
        </span>
      </header>
      <Stack gap={2} shrink data-selectable>
        <p dir="auto" className={styles.title} data-mono={approval.kind === "command" || undefined}>
          {approval.title}
        </p>
        <Subject approval={approval} />
      </Stack>
      <ActionError
        title={t("approvals.notAnswered")}
        error={action.error}
        onDismiss={action.dismiss}
      />
      <TextField
        label={t("approvals.note")}
        hideLabel
        placeholder={t(
          approval.kind === "question" ? "approvals.noteAnswer" : "approvals.noteHint",
        )}
        value={note}
        disabled={sending}
        onChange={setNote}
      />
      <div className={styles.options} role="group" aria-label={t("approvals.answers")}>
        {options.map((option) => (
          <Button
            key={option.id}
            size="sm"
            variant={option.choice === "allow_once" ? "primary" : "secondary"}
            keys={keyOf(option, options)}
            title={option.label}
            disabled={sending}
            onClick={() => answer(option)}
          >
            {option.label || t(`approvals.choice.${option.choice}`)}
          </Button>
        ))}
      </div>
    </section>
  );
}
