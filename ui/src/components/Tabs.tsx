import { Tabs as Base } from "@base-ui/react/tabs";
import type { ReactNode } from "react";
import { Badge, type Tone } from "./Badge.tsx";
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

/** Only the chosen panel is made: a hidden tab reads and renders nothing. */
export function Tabs<Id extends string>({ label, tabs, value, onChange }: TabsProps<Id>) {
  return (
    <Base.Root className={styles.root} value={value} onValueChange={(next: Id) => onChange(next)}>
      <Base.List className={styles.list} aria-label={label} activateOnFocus>
        {tabs.map((tab) => (
          <Base.Tab key={tab.id} value={tab.id} className={styles.tab}>
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
