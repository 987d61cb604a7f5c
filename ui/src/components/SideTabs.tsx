/** Tabs as a list at the side, in groups: for more of them than a row holds. It stays as it is, whatever is chosen. */
import { Tabs as Base } from "@base-ui/react/tabs";
import { useEffect, useId, useRef } from "react";
import type { Tab } from "./Tabs.tsx";
import styles from "./SideTabs.module.css";

export interface TabGroup<Id extends string> {
  readonly title: string;
  readonly tabs: readonly Tab<Id>[];
}

export interface SideTabsProps<Id extends string> {
  readonly label: string;
  readonly groups: readonly TabGroup<Id>[];
  readonly value: Id;
  readonly onChange: (id: Id) => void;
}

/** Only the chosen panel is made: a hidden tab reads and renders nothing. */
export function SideTabs<Id extends string>({ label, groups, value, onChange }: SideTabsProps<Id>) {
  const id = useId();
  const list = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const chosen = list.current?.querySelector<HTMLElement>(`[data-tab="${value}"]`);
    chosen?.scrollIntoView?.({ block: "nearest" });
  }, [value]);
  return (
    <Base.Root
      className={styles.root}
      orientation="vertical"
      value={value}
      onValueChange={(next: Id) => onChange(next)}
    >
      <Base.List ref={list} className={styles.list} aria-label={label} activateOnFocus>
        {groups.map(({ title, tabs }) => (
          <div key={title} role="presentation" className={styles.group}>
            <span id={`${id}-${title}`} className={styles.title}>
              {title}
            </span>
            {tabs.map((tab) => (
              <Base.Tab
                key={tab.id}
                value={tab.id}
                data-tab={tab.id}
                aria-describedby={`${id}-${title}`}
                className={styles.tab}
              >
                {tab.label}
              </Base.Tab>
            ))}
          </div>
        ))}
      </Base.List>
      {groups
        .flatMap(({ tabs }) => tabs)
        .map((tab) => (
          <Base.Panel key={tab.id} value={tab.id} className={styles.panel}>
            {tab.id === value && tab.panel}
          </Base.Panel>
        ))}
    </Base.Root>
  );
}
