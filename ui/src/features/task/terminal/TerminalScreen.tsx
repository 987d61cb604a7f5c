/** One terminal: what its shell prints, and what is typed to it. Everything of xterm is behind this file. */
import "@xterm/xterm/css/xterm.css";
import { FitAddon } from "@xterm/addon-fit";
import { SearchAddon } from "@xterm/addon-search";
import { WebLinksAddon } from "@xterm/addon-web-links";
import { Terminal } from "@xterm/xterm";
import { ArrowDown, ArrowUp, X } from "lucide-react";
import { useEffect, useId, useRef, useState, type RefObject } from "react";
import { useTranslation } from "react-i18next";
import { call } from "#ui/api/client.ts";
import type { ApiError } from "#ui/api/error.ts";
import { IconButton } from "#ui/components/IconButton.tsx";
import { TextField } from "#ui/components/TextField.tsx";
import { usePlatform } from "#ui/platform/PlatformContext.tsx";
import type { Platform } from "#ui/platform/types.ts";
import { usePreference } from "#ui/store/preferences.ts";
import { ActionError } from "../ActionError.tsx";
import { looksOf, onLooks } from "./looks.ts";
import { createTyping, isAnswer, readOn, type Place, type Sink } from "./stream.ts";
import styles from "./terminal.module.css";

/** As many lines as the engine keeps. */
const SCROLLBACK = 10_000;

export interface TerminalScreenProps {
  readonly id: string;
  readonly title: string;
  /** It was opened just now: nothing in it was answered before. Holds for the first time that it is shown. */
  readonly isNew: boolean;
  readonly onShown: () => void;
  /** The way out by keyboard. */
  readonly onLeave: () => void;
}

/** What is shown and can be searched. */
interface Shown {
  readonly terminal: Terminal;
  readonly search: SearchAddon;
}

interface Wishes {
  readonly onFind: () => void;
  readonly onLeave: () => void;
}

/** Beside them, what is told to whoever shows it. */
interface Wants extends Wishes {
  readonly onShown: () => void;
}

const isWeb = (address: string) => /^https?:\/\//i.test(address);

function open(place: HTMLElement, platform: Platform, reader: boolean, wishes: Wishes) {
  const follow = (_: MouseEvent, address: string) => {
    if (isWeb(address)) void platform.openExternal(address);
  };
  const terminal = new Terminal({
    ...looksOf(place),
    scrollback: SCROLLBACK,
    screenReaderMode: reader,
    cursorBlink: false,
    linkHandler: { activate: follow },
  });
  const [fit, search] = [new FitAddon(), new SearchAddon()];
  terminal.loadAddon(fit);
  terminal.loadAddon(search);
  terminal.loadAddon(new WebLinksAddon(follow));
  terminal.attachCustomKeyEventHandler((event) => {
    const deed = deedOf(event);
    if (!deed) return true;
    if (event.type !== "keydown" || deed === "paste") return false;
    event.preventDefault();
    if (deed === "copy") void navigator.clipboard.writeText(terminal.getSelection());
    if (deed === "find") wishes.onFind();
    if (deed === "leave") wishes.onLeave();
    return false;
  });
  terminal.open(place);
  fit.fit();
  return { terminal, search, fit };
}

/** What a combination means that is not typed. Pasting is the page's own, which gives the text to the terminal. */
function deedOf({ key, ctrlKey, shiftKey, altKey, metaKey }: KeyboardEvent) {
  if (key === "F6" && (ctrlKey || metaKey)) return "leave";
  if (altKey || metaKey || !ctrlKey || !shiftKey) return null;
  const deeds = { c: "copy", v: "paste", f: "find" } as const;
  return deeds[key.toLowerCase() as keyof typeof deeds] ?? null;
}

function useTerminal(
  { id, isNew, onLeave, onShown }: TerminalScreenProps,
  onFind: () => void,
): {
  place: RefObject<HTMLDivElement | null>;
  shown: RefObject<Shown | null>;
  readError: ApiError | null;
  typeError: ApiError | null;
} {
  const platform = usePlatform();
  const reader = usePreference("terminalScreenReader");
  const place = useRef<HTMLDivElement>(null);
  const shown = useRef<Shown | null>(null);
  const wishes = useRef<Wants>({ onFind, onLeave, onShown });
  // Shown anew, with a screen reader or without, it is told again what it was told before.
  const fresh = useRef(isNew);
  const [readError, setReadError] = useState<ApiError | null>(null);
  const [typeError, setTypeError] = useState<ApiError | null>(null);
  useEffect(() => {
    wishes.current = { onFind, onLeave, onShown };
  });
  useEffect(() => {
    const box = place.current;
    if (!box) return undefined;
    const { terminal, search, fit } = open(box, platform, reader, {
      onFind: () => wishes.current.onFind(),
      onLeave: () => wishes.current.onLeave(),
    });
    shown.current = { terminal, search };
    const type = createTyping(
      (bytes) => call(platform, "terminal_input", { terminal_id: id, bytes }),
      setTypeError,
    );
    // A program that asks the terminal something was answered when it asked: what is told again is not answered again.
    let answers = fresh.current;
    const encoder = new TextEncoder();
    terminal.onData((text) => {
      if (answers || !isAnswer(text)) type(encoder.encode(text));
    });
    terminal.onBinary((text) => type(Uint8Array.from(text, (letter) => letter.charCodeAt(0))));
    const resize = () => {
      const { cols: columns, rows } = terminal;
      // One that ended a moment ago has no size.
      call(platform, "terminal_resize", { terminal_id: id, columns, rows }).catch(() => {});
    };
    terminal.onResize(resize);
    resize();
    const sink: Sink = {
      write: (bytes) => new Promise((done) => terminal.write(bytes, done)),
      reset: () => terminal.reset(),
      live: (isNew) => {
        answers = isNew;
      },
      ended: () => {
        terminal.options.disableStdin = true;
      },
      failed: setReadError,
    };
    const read = (at: Place) => call(platform, "terminal_stream", { terminal_id: id, ...at });
    const stop = readOn(read, sink, fresh.current);
    fresh.current = false;
    wishes.current.onShown();
    const resized = new ResizeObserver(() => fit.fit());
    resized.observe(box);
    const forget = onLooks(() => {
      Object.assign(terminal.options, looksOf(box));
      fit.fit();
    });
    terminal.focus();
    return () => {
      stop();
      forget();
      resized.disconnect();
      shown.current = null;
      terminal.dispose();
    };
  }, [platform, id, reader]);
  return { place, shown, readError, typeError };
}

export default function TerminalScreen(props: TerminalScreenProps) {
  const { t } = useTranslation();
  const [finding, setFinding] = useState(false);
  const hint = useId();
  const { place, shown, readError, typeError } = useTerminal(props, () => setFinding(true));
  const close = () => {
    setFinding(false);
    shown.current?.search.clearDecorations();
    shown.current?.terminal.focus();
  };
  return (
    <div className={styles.screen}>
      {finding && <Find shown={shown} onClose={close} />}
      {readError && <ActionError title={t("terminal.failed")} error={readError} />}
      {typeError && <ActionError title={t("terminal.typeFailed")} error={typeError} />}
      <div
        className={styles.place}
        role="group"
        aria-label={props.title}
        aria-describedby={hint}
        data-terminal={props.id}
      >
        <div ref={place} className={styles.inner} />
      </div>
      <p id={hint} className="visually-hidden">
        {t("terminal.leaveHint")}
      </p>
    </div>
  );
}

function Find({ shown, onClose }: { shown: RefObject<Shown | null>; onClose: () => void }) {
  const { t } = useTranslation();
  const [text, setText] = useState("");
  const find = (which: "findNext" | "findPrevious", of = text) =>
    void shown.current?.search[which](of, { incremental: which === "findNext" && of !== text });
  return (
    <div role="search" className={styles.find}>
      <TextField
        label={t("terminal.find")}
        hideLabel
        autoFocus
        placeholder={t("terminal.find")}
        value={text}
        onChange={(next) => {
          setText(next);
          find("findNext", next);
        }}
        onKeyDown={(event) => {
          if (event.key === "Enter") find(event.shiftKey ? "findPrevious" : "findNext");
          if (event.key !== "Escape") return;
          // It closes the search, and not what is around.
          event.stopPropagation();
          event.preventDefault();
          onClose();
        }}
      />
      <IconButton
        label={t("terminal.findPrevious")}
        icon={<ArrowUp />}
        onClick={() => find("findPrevious")}
      />
      <IconButton
        label={t("terminal.findNext")}
        icon={<ArrowDown />}
        onClick={() => find("findNext")}
      />
      <IconButton label={t("terminal.findClose")} icon={<X />} tooltip={false} onClick={onClose} />
    </div>
  );
}
