import {
  ArrowDown,
  ArrowUp,
  ChevronRight,
  CircleAlert,
  Copy,
  FlaskConical,
  Puzzle,
  SquareTerminal,
  Trash2,
} from "lucide-react";
import { useEffect, useId, useRef, useState, type KeyboardEvent } from "react";
import { useTranslation } from "react-i18next";
import type { LifecycleEvent, LifecycleHook } from "#ui/api/generated.ts";
import { Badge } from "#ui/components/Badge.tsx";
import { Button } from "#ui/components/Button.tsx";
import { IconButton } from "#ui/components/IconButton.tsx";
import { findingsIn } from "#ui/draft/findings.ts";
import { HookFields } from "./HookFields.tsx";
import { HookTestPanel } from "./HookTestPanel.tsx";
import { useHooks } from "./HooksContext.tsx";
import { summaryOf } from "./hooks.ts";
import styles from "./hooks.module.css";

export interface HookCardProps {
  readonly event: LifecycleEvent;
  readonly index: number;
  readonly hook: LifecycleHook;
  readonly count: number;
  readonly isOpen: boolean;
  readonly onOpen: (wanted: boolean) => void;
  readonly onMove: (to: number) => void;
  readonly onDuplicate: () => void;
  readonly onRemove: () => void;
}

/** One hook: a line, and behind it its fields and its test. Alt with an arrow moves it. */
export function HookCard(props: HookCardProps) {
  const { event, index, hook, count, isOpen, onOpen, onMove } = props;
  const { t } = useTranslation();
  const { findings } = useHooks();
  const id = useId();
  const head = useRef<HTMLButtonElement>(null);
  const [tests, setTests] = useState(false);
  const place = `${event}[${index}]`;
  const found = findingsIn(findings, place).length;
  const isScript = hook.type === "script";
  const summary = isScript
    ? summaryOf(hook) || t("hooks.emptyCommand")
    : t(`actions.${hook.name}.name`, { defaultValue: summaryOf(hook) });
  // A finding is not hidden behind a line.
  useEffect(() => {
    if (found > 0) onOpen(true);
    // Once, when it was found.
    // oxlint-disable-next-line react/exhaustive-deps
  }, [found > 0]);
  const onKeyDown = (pressed: KeyboardEvent) => {
    const by = { ArrowUp: -1, ArrowDown: 1 }[pressed.key];
    if (!pressed.altKey || by === undefined) return;
    pressed.preventDefault();
    const to = index + by;
    if (to < 0 || to >= count) return;
    onMove(to);
    // The focus stays with the hook, which is another row now.
    const list = head.current?.closest("ol");
    requestAnimationFrame(() => {
      list?.children[to]?.querySelector<HTMLElement>("button")?.focus();
    });
  };
  return (
    <li className={styles.card} data-path={place} data-open={isOpen || undefined}>
      <div className={styles.cardHead}>
        <button
          ref={head}
          type="button"
          className={styles.cardButton}
          aria-expanded={isOpen}
          aria-controls={id}
          aria-keyshortcuts="Alt+ArrowUp Alt+ArrowDown"
          aria-label={`${t("hooks.hookOf", { event: t(`hooks.events.${event}`), number: index + 1 })}: ${summary}`}
          onClick={() => onOpen(!isOpen)}
          onKeyDown={onKeyDown}
        >
          <ChevronRight className={styles.chevron} aria-hidden />
          {isScript ? <SquareTerminal aria-hidden /> : <Puzzle aria-hidden />}
          <span className={styles.summary} data-mono={isScript || undefined}>
            {summary}
          </span>
          {isScript && hook.blocking && <Badge look="outline">{t("hooks.blockingBadge")}</Badge>}
          {!isScript && hook.enabled === false && (
            <Badge look="outline">{t("hooks.disabledBadge")}</Badge>
          )}
          {found > 0 && (
            <Badge tone="danger" icon={<CircleAlert />}>
              {t("hooks.findings", { count: found })}
            </Badge>
          )}
        </button>
        <span className={styles.tools}>
          <Button
            size="sm"
            variant="ghost"
            icon={<FlaskConical />}
            aria-pressed={tests && isOpen}
            onClick={() => {
              setTests(!(tests && isOpen));
              onOpen(true);
            }}
          >
            {t("hooks.test")}
          </Button>
          <IconButton
            size="sm"
            label={t("hooks.up")}
            keys="alt+up"
            icon={<ArrowUp />}
            disabled={index === 0}
            onClick={() => onMove(index - 1)}
          />
          <IconButton
            size="sm"
            label={t("hooks.down")}
            keys="alt+down"
            icon={<ArrowDown />}
            disabled={index === count - 1}
            onClick={() => onMove(index + 1)}
          />
          <IconButton
            size="sm"
            label={t("hooks.duplicate")}
            icon={<Copy />}
            onClick={props.onDuplicate}
          />
          <IconButton
            size="sm"
            label={t("hooks.remove")}
            icon={<Trash2 />}
            onClick={props.onRemove}
          />
        </span>
      </div>
      <div id={id} hidden={!isOpen}>
        {isOpen && (
          <div className={styles.body}>
            <HookFields event={event} index={index} hook={hook} />
            {tests && <HookTestPanel event={event} index={index} hook={hook} />}
          </div>
        )}
      </div>
    </li>
  );
}
