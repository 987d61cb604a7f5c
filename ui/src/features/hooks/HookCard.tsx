import { FlaskConical, Puzzle, SquareTerminal } from "lucide-react";
import { useEffect, useState } from "react";
import { useTranslation } from "react-i18next";
import type { LifecycleEvent, LifecycleHook } from "#ui/api/generated.ts";
import { Badge } from "#ui/components/Badge.tsx";
import { Button } from "#ui/components/Button.tsx";
import { OrderedItem, type OrderedItemProps } from "#ui/components/OrderedItem.tsx";
import { findingsIn } from "#ui/draft/findings.ts";
import { HookFields } from "./HookFields.tsx";
import { HookTestPanel } from "./HookTestPanel.tsx";
import { useHooks } from "./HooksContext.tsx";
import { summaryOf } from "./hooks.ts";
import styles from "./hooks.module.css";

type Order = "index" | "count" | "isOpen" | "onOpen" | "onMove" | "onDuplicate" | "onRemove";

export interface HookCardProps extends Pick<OrderedItemProps, Order> {
  readonly event: LifecycleEvent;
  readonly hook: LifecycleHook;
}

/** One hook: a line, and behind it its fields and its test. */
export function HookCard({ event, hook, ...order }: HookCardProps) {
  const { index, isOpen, onOpen } = order;
  const { t } = useTranslation();
  const { findings } = useHooks();
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
  const which = t("hooks.hookOf", { event: t(`hooks.events.${event}`), number: index + 1 });
  const badge =
    isScript && hook.blocking
      ? t("hooks.blockingBadge")
      : !isScript && hook.enabled === false
        ? t("hooks.disabledBadge")
        : null;
  return (
    <OrderedItem
      {...order}
      place={place}
      name={[`${which}: ${summary}`, badge].filter((part) => part !== null).join(" ")}
      line={
        <>
          {isScript ? <SquareTerminal aria-hidden /> : <Puzzle aria-hidden />}
          <span className={styles.summary} data-mono={isScript || undefined}>
            {summary}
          </span>{" "}
          {badge && <Badge look="outline">{badge}</Badge>}
        </>
      }
      problems={found}
      tools={
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
      }
      labels={{
        up: t("hooks.up"),
        down: t("hooks.down"),
        duplicate: t("hooks.duplicate"),
        remove: t("hooks.remove"),
      }}
    >
      <HookFields event={event} index={index} hook={hook} />
      {tests && <HookTestPanel event={event} index={index} hook={hook} />}
    </OrderedItem>
  );
}
