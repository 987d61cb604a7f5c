import { Plus } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import type { LifecycleEvent, LifecycleHook } from "#ui/api/generated.ts";
import { Button } from "#ui/components/Button.tsx";
import { moved, setAt } from "#ui/draft/path.ts";
import { HookCard } from "./HookCard.tsx";
import { useHooks } from "./HooksContext.tsx";
import { hooksAt, pluginsAt } from "./hooks.ts";
import { Stack } from "#ui/components/Stack.tsx";
import layout from "#ui/components/layout.module.css";
import styles from "./hooks.module.css";

/** The hooks of one event, in the order they run. */
export function EventHooks({ event }: { event: LifecycleEvent }) {
  const { t } = useTranslation();
  const { hooks, edit } = useHooks();
  const list = hooksAt(hooks, event);
  const [open, setOpen] = useState<number | null>(null);
  const put = (next: readonly LifecycleHook[]) =>
    edit(setAt(hooks, [event], next.length > 0 ? next : undefined));
  const add = (hook: LifecycleHook) => {
    put([...list, hook]);
    setOpen(list.length);
  };
  const [plugin] = pluginsAt[event];
  return (
    <Stack as="section" gap={3} aria-labelledby={`event-${event}`} data-path={event}>
      <header className={styles.eventHead}>
        <h2 id={`event-${event}`}>
          {t(`hooks.events.${event}`)} <code>{event}</code>
        </h2>
        <p className={layout.note}>{t(`hooks.eventNotes.${event}`)}</p>
      </header>
      {list.length > 0 && (
        <ol className={layout.surface}>
          {list.map((hook, index) => (
            <HookCard
              key={index}
              event={event}
              index={index}
              hook={hook}
              count={list.length}
              isOpen={open === index}
              onOpen={(wanted) => setOpen(wanted ? index : null)}
              onMove={(to) => {
                put(moved(list, index, to));
                setOpen(open === index ? to : open === to ? index : open);
              }}
              onDuplicate={() => {
                put([...list.slice(0, index + 1), hook, ...list.slice(index + 1)]);
                setOpen(index + 1);
              }}
              onRemove={() => {
                put(list.filter((_, at) => at !== index));
                setOpen(null);
              }}
            />
          ))}
        </ol>
      )}
      <div className={styles.buttons}>
        <Button
          size="sm"
          variant="ghost"
          flush
          icon={<Plus />}
          onClick={() => add({ type: "script", command: "" })}
        >
          {t("hooks.addScript")}
        </Button>
        {plugin && (
          <Button
            size="sm"
            variant="ghost"
            icon={<Plus />}
            onClick={() => add({ type: "plugin", name: plugin })}
          >
            {t("hooks.addPlugin")}
          </Button>
        )}
      </div>
    </Stack>
  );
}
