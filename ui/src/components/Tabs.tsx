import { Tabs as Base } from "@base-ui/react/tabs";
import { useEffect, useRef, useState, type ReactNode } from "react";
import { Badge, type Tone } from "./Badge.tsx";
import layout from "./layout.module.css";
import styles from "./Tabs.module.css";

export interface Tab<Id extends string> {
  readonly id: Id;
  readonly label: string;
  readonly count?: number;
  readonly tone?: Tone;
  readonly panel: ReactNode;
}

export interface TabsProps<Id extends string> {
  readonly label: string;
  readonly tabs: readonly Tab<Id>[];
  readonly value: Id;
  readonly onChange: (id: Id) => void;
}

type More = "start" | "end" | "both";

/** At which ends of a row that scrolls there is more of it; the chosen one is kept in sight. */
function useMore(value: string) {
  const list = useRef<HTMLDivElement>(null);
  const [more, setMore] = useState<More>();
  useEffect(() => {
    const box = list.current;
    if (!box) return undefined;
    const look = () => {
      const start = box.scrollLeft > 1;
      const end = box.scrollWidth - box.clientWidth - box.scrollLeft > 1;
      setMore(start && end ? "both" : start ? "start" : end ? "end" : undefined);
    };
    const resized = new ResizeObserver(look);
    resized.observe(box);
    box.addEventListener("scroll", look, { passive: true });
    look();
    return () => {
      resized.disconnect();
      box.removeEventListener("scroll", look);
    };
  }, []);
  useEffect(() => {
    const chosen = list.current?.querySelector<HTMLElement>(`[data-tab="${value}"]`);
    chosen?.scrollIntoView?.({ block: "nearest", inline: "center" });
  }, [value]);
  return { list, more };
}

/** Only the chosen panel is made: a hidden tab reads and renders nothing. */
export function Tabs<Id extends string>({ label, tabs, value, onChange }: TabsProps<Id>) {
  const { list, more } = useMore(value);
  return (
    <Base.Root className={layout.column} value={value} onValueChange={(next: Id) => onChange(next)}>
      <Base.List
        ref={list}
        className={styles.list}
        data-more={more}
        aria-label={label}
        activateOnFocus
      >
        {tabs.map((tab) => (
          <Base.Tab key={tab.id} value={tab.id} data-tab={tab.id} className={styles.tab}>
            {tab.label}
            {tab.count !== undefined && tab.count > 0 && (
              <Badge look="count" tone={tab.tone ?? "neutral"}>
                {tab.count}
              </Badge>
            )}
          </Base.Tab>
        ))}
      </Base.List>
      {tabs.map((tab) => (
        <Base.Panel key={tab.id} value={tab.id} className={styles.panel}>
          {tab.id === value && tab.panel}
        </Base.Panel>
      ))}
    </Base.Root>
  );
}
