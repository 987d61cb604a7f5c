import { ContextMenu as BaseContext } from "@base-ui/react/context-menu";
import { Menu as Base } from "@base-ui/react/menu";
import { Check, ChevronRight } from "lucide-react";
import type { ReactElement, ReactNode } from "react";
import { KeyHint } from "./Kbd.tsx";
import { Stack } from "./Stack.tsx";
import layout from "./layout.module.css";
import styles from "./Menu.module.css";

/** A menu is data: what it offers can be tested without opening it. */
export type MenuEntry =
  | {
      readonly kind?: "item" | undefined;
      readonly id: string;
      readonly label: string;
      readonly icon?: ReactNode;
      readonly keys?: string;
      readonly danger?: boolean;
      readonly disabled?: boolean;
      /** Why it is disabled, or what it will do; shown under the label. */
      readonly note?: string;
      readonly onSelect: () => void;
    }
  | {
      readonly kind: "check";
      readonly id: string;
      readonly label: string;
      readonly checked: boolean;
      readonly onChange: (checked: boolean) => void;
    }
  | {
      readonly kind: "submenu";
      readonly id: string;
      readonly label: string;
      readonly icon?: ReactNode;
      readonly entries: readonly MenuEntry[];
    }
  | { readonly kind: "label"; readonly id: string; readonly label: string }
  | { readonly kind: "separator"; readonly id: string };

type ActionItem = Extract<MenuEntry, { readonly onSelect: () => void }>;

function ActionEntry({ entry }: { entry: ActionItem }) {
  return (
    <Base.Item
      className={styles.item}
      data-danger={entry.danger || undefined}
      disabled={entry.disabled ?? false}
      label={entry.label}
      onClick={entry.onSelect}
    >
      <span className={styles.icon}>{entry.icon}</span>
      <Stack as="span" fill>
        <bdi>{entry.label}</bdi>
        {entry.note && <span className={layout.noteSmall}>{entry.note}</span>}
      </Stack>
      {entry.keys && <KeyHint keys={entry.keys} />}
    </Base.Item>
  );
}

function Entry({ entry }: { entry: MenuEntry }): ReactElement {
  switch (entry.kind) {
    case "separator":
      return <Base.Separator className={styles.separator} />;
    case "label":
      return <div className={styles.label}>{entry.label}</div>;
    case "check":
      return (
        <Base.CheckboxItem
          className={styles.item}
          checked={entry.checked}
          onCheckedChange={entry.onChange}
        >
          <span className={styles.icon}>
            <Base.CheckboxItemIndicator>
              <Check />
            </Base.CheckboxItemIndicator>
          </span>
          <Stack as="span" fill>
            <bdi>{entry.label}</bdi>
          </Stack>
        </Base.CheckboxItem>
      );
    case "submenu":
      return (
        <Base.SubmenuRoot>
          <Base.SubmenuTrigger className={styles.item}>
            <span className={styles.icon}>{entry.icon}</span>
            <Stack as="span" fill>
              <bdi>{entry.label}</bdi>
            </Stack>
            <ChevronRight className={styles.chevron} aria-hidden />
          </Base.SubmenuTrigger>
          <Base.Portal>
            <Base.Positioner className={styles.positioner} sideOffset={2} alignOffset={-4}>
              <Base.Popup className={styles.popup}>
                <Entries entries={entry.entries} />
              </Base.Popup>
            </Base.Positioner>
          </Base.Portal>
        </Base.SubmenuRoot>
      );
    case "item":
    case undefined:
      return <ActionEntry entry={entry} />;
  }
}

function Entries({ entries }: { entries: readonly MenuEntry[] }) {
  return entries.map((entry) => <Entry key={entry.id} entry={entry} />);
}

export interface MenuProps {
  readonly trigger: ReactElement;
  readonly entries: readonly MenuEntry[];
  readonly align?: "start" | "center" | "end";
  readonly side?: "bottom" | "top" | "right";
}

export function Menu({ trigger, entries, align = "start", side = "bottom" }: MenuProps) {
  return (
    <Base.Root>
      <Base.Trigger render={trigger} />
      <Base.Portal>
        <Base.Positioner className={styles.positioner} sideOffset={4} align={align} side={side}>
          <Base.Popup className={styles.popup}>
            <Entries entries={entries} />
          </Base.Popup>
        </Base.Positioner>
      </Base.Portal>
    </Base.Root>
  );
}

/** The same entries on the secondary button, or the menu key, over its children. */
export function ContextMenu({
  entries,
  onOpen,
  children,
}: {
  entries: readonly MenuEntry[];
  /** Before it is shown: the entries may depend on what it was opened over. */
  onOpen?: () => void;
  children: ReactElement;
}) {
  return (
    <BaseContext.Root
      onOpenChange={(open) => {
        if (open) onOpen?.();
      }}
    >
      <BaseContext.Trigger render={children} />
      <BaseContext.Portal>
        <BaseContext.Positioner className={styles.positioner}>
          <BaseContext.Popup className={styles.popup}>
            <Entries entries={entries} />
          </BaseContext.Popup>
        </BaseContext.Positioner>
      </BaseContext.Portal>
    </BaseContext.Root>
  );
}
