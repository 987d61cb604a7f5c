/** The terminals of a task: a shell in its worktree for whoever wants to try something by hand. */
import { Ear, Plus, SquareTerminal, X } from "lucide-react";
import { lazy, Suspense, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import { useOp } from "#ui/api/client.ts";
import { ApiError } from "#ui/api/error.ts";
import type { Task, Terminal } from "#ui/api/generated.ts";
import { AlertDialog } from "#ui/components/AlertDialog.tsx";
import { Banner } from "#ui/components/Banner.tsx";
import { Button } from "#ui/components/Button.tsx";
import { EmptyState } from "#ui/components/EmptyState.tsx";
import { ErrorState } from "#ui/components/ErrorState.tsx";
import { IconButton } from "#ui/components/IconButton.tsx";
import { KeyHint } from "#ui/components/Kbd.tsx";
import { Said } from "#ui/components/Said.tsx";
import { SkeletonText } from "#ui/components/Skeleton.tsx";
import { setPreference, usePreference } from "#ui/store/preferences.ts";
import { ActionError } from "../ActionError.tsx";
import { useAction } from "../useAction.ts";
import styles from "./terminal.module.css";

// A terminal weighs as much as the rest of the tab's page: it comes with the first one that is shown.
const TerminalScreen = lazy(() => import("./TerminalScreen.tsx"));

/** A terminal that is asked about before it is closed, and why. */
interface Asked {
  readonly terminal: Terminal;
  readonly why: string;
}

/** What is done to terminals. A close that would end a program asks first. */
function useTerminals(task: Task, onOpened: (id: string) => void) {
  const [asked, setAsked] = useState<Asked | null>(null);
  const closing = useRef<Terminal | null>(null);
  const action = useAction((error: ApiError) => {
    const terminal = closing.current;
    if (error.code === "terminal_busy" && terminal) setAsked({ terminal, why: error.message });
  });
  const open = async () => {
    const opened = await action.run("terminal_open", { task_id: task.id });
    if (opened) onOpened(opened.id);
  };
  const close = async (terminal: Terminal, end_program: boolean) => {
    closing.current = terminal;
    setAsked(null);
    await action.run("terminal_close", { terminal_id: terminal.id, end_program });
  };
  return { action, asked, open, close, keep: () => setAsked(null) };
}

export default function TerminalTab({ task }: { task: Task }) {
  const { t } = useTranslation();
  const terminals = useOp("terminal_list", { task_id: task.id });
  const [chosen, setChosen] = useState<string | null>(null);
  const [opened, setOpened] = useState<readonly string[]>([]);
  const bar = useRef<HTMLDivElement>(null);
  const deeds = useTerminals(task, (id) => {
    setOpened((before) => [...before, id]);
    setChosen(id);
  });
  if (terminals.error && !terminals.data) {
    return (
      <ErrorState
        title={t("terminal.listFailed")}
        error={terminals.error}
        onRetry={() => void terminals.refetch()}
      />
    );
  }
  if (!terminals.data) {
    return (
      <div className={styles.page} aria-busy>
        <SkeletonText lines={6} />
      </div>
    );
  }
  const { items } = terminals.data;
  const shown = items.find(({ id }) => id === chosen) ?? items.at(-1);
  const error = deeds.action.error?.code === "terminal_busy" ? null : deeds.action.error;
  const trouble = error && (
    <ActionError
      title={t("terminal.actionFailed")}
      error={error}
      onDismiss={deeds.action.dismiss}
    />
  );
  const isElsewhere = task.workspace?.machine_id != null;
  const openOne = !isElsewhere && (
    <Button
      size="sm"
      icon={<Plus />}
      busy={deeds.action.busy === "terminal_open"}
      onClick={() => void deeds.open()}
    >
      {t("terminal.open")}
    </Button>
  );
  if (!shown) {
    return (
      <>
        {trouble}
        <EmptyState
          icon={<SquareTerminal />}
          title={t("terminal.none")}
          actions={openOne || undefined}
        >
          {t(isElsewhere ? "terminal.elsewhereHint" : "terminal.noneHint")}
        </EmptyState>
      </>
    );
  }
  const leave = () => bar.current?.querySelector<HTMLElement>("[aria-pressed=true]")?.focus();
  return (
    <div className={styles.page}>
      <div ref={bar} className={styles.bar} role="group" aria-label={t("terminal.toolbar")}>
        <ul className={styles.list} aria-label={t("terminal.all")}>
          {items.map((terminal) => (
            <Item
              key={terminal.id}
              terminal={terminal}
              isShown={terminal.id === shown.id}
              onShow={() => setChosen(terminal.id)}
              onClose={() => void deeds.close(terminal, false)}
            />
          ))}
        </ul>
        {openOne}
        <ReaderToggle />
      </div>
      {trouble}
      {shown.reason && (
        <Banner tone="info" title={t("terminal.ended", { title: shown.title })}>
          {shown.reason}
        </Banner>
      )}
      <Suspense fallback={<SkeletonText lines={6} />}>
        <TerminalScreen
          key={shown.id}
          id={shown.id}
          title={shown.title}
          isNew={opened.includes(shown.id)}
          onShown={() =>
            setOpened((all) => (all.includes(shown.id) ? all.filter((id) => id !== shown.id) : all))
          }
          onLeave={leave}
        />
      </Suspense>
      <p className={styles.note} aria-hidden>
        <KeyHint keys="mod+f6" /> {t("terminal.leaveNote")}
      </p>
      {deeds.asked && <CloseTerminal asked={deeds.asked} deeds={deeds} />}
    </div>
  );
}

interface ItemProps {
  readonly terminal: Terminal;
  readonly isShown: boolean;
  readonly onShow: () => void;
  readonly onClose: () => void;
}

function Item({ terminal, isShown, onShow, onClose }: ItemProps) {
  const { t } = useTranslation();
  const { title, ended_at } = terminal;
  return (
    <li className={styles.item} data-chosen={isShown || undefined}>
      <button
        type="button"
        className={styles.name}
        aria-pressed={isShown}
        data-ended={ended_at !== null || undefined}
        onClick={onShow}
      >
        {ended_at === null ? title : t("terminal.endedName", { title })}
      </button>
      <IconButton size="sm" label={t("terminal.close", { title })} icon={<X />} onClick={onClose} />
    </li>
  );
}

function ReaderToggle() {
  const { t } = useTranslation();
  const on = usePreference("terminalScreenReader");
  return (
    <div className={styles.tools}>
      <IconButton
        size="sm"
        label={t("terminal.screenReader")}
        icon={<Ear />}
        pressed={on}
        onClick={() => setPreference("terminalScreenReader", !on)}
      />
    </div>
  );
}

function CloseTerminal({ asked, deeds }: { asked: Asked; deeds: ReturnType<typeof useTerminals> }) {
  const { t } = useTranslation();
  return (
    <AlertDialog
      open
      onOpenChange={(open) => open || deeds.keep()}
      title={t("terminal.closeTitle", { title: asked.terminal.title })}
      description={<Said text={asked.why} />}
      confirmLabel={t("terminal.endProgram")}
      danger
      onConfirm={() => void deeds.close(asked.terminal, true)}
    />
  );
}
