import { Autocomplete } from "@base-ui/react/autocomplete";
import { Dialog } from "@base-ui/react/dialog";
import { Search } from "lucide-react";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { KeyHint } from "./Kbd.tsx";
import { Truncate } from "./Truncate.tsx";
import layout from "./layout.module.css";
import styles from "./CommandPalette.module.css";

export interface PaletteItem {
  readonly id: string;
  readonly label: string;
  /** Further words it is found by. */
  readonly keywords?: string;
  readonly icon?: ReactNode;
  readonly detail?: string;
  readonly keys?: string;
  readonly run: () => void;
}

export interface PaletteGroup {
  readonly value: string;
  readonly items: readonly PaletteItem[];
}

export interface CommandPaletteProps {
  readonly open: boolean;
  readonly onOpenChange: (open: boolean) => void;
  readonly groups: readonly PaletteGroup[];
  readonly query?: string;
  readonly onQueryChange?: (query: string) => void;
  /** What it is for, when it is not for everything. */
  readonly title?: string;
}

/** Every typed word must occur; the order of words and letters between them do not matter. */
export function matchesQuery(item: PaletteItem, query: string): boolean {
  const text = `${item.label} ${item.keywords ?? ""} ${item.detail ?? ""}`.toLocaleLowerCase();
  return query
    .toLocaleLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}

function Row({ item, onRun }: { item: PaletteItem; onRun: (item: PaletteItem) => void }) {
  return (
    <Autocomplete.Item value={item} className={styles.item} onClick={() => onRun(item)}>
      <span className={styles.icon} aria-hidden>
        {item.icon}
      </span>
      <Truncate fill>{item.label}</Truncate>
      {item.detail && <span className={layout.note}>{item.detail}</span>}
      {item.keys && <KeyHint keys={item.keys} />}
    </Autocomplete.Item>
  );
}

export function CommandPalette({
  open,
  onOpenChange,
  groups,
  query,
  onQueryChange,
  title,
}: CommandPaletteProps) {
  const { t } = useTranslation();
  const name = title ?? t("palette.title");
  const run = (item: PaletteItem) => {
    onOpenChange(false);
    item.run();
  };
  return (
    <Dialog.Root open={open} onOpenChange={onOpenChange}>
      <Dialog.Portal>
        <Dialog.Backdrop className={styles.backdrop} />
        <Dialog.Viewport className={styles.viewport}>
          <Dialog.Popup className={styles.popup} aria-label={name}>
            <Autocomplete.Root
              open
              inline
              items={groups}
              autoHighlight="always"
              keepHighlight
              itemToStringValue={(item: PaletteItem) => item.label}
              filter={(item: PaletteItem, typed: string) => matchesQuery(item, typed)}
              {...(query === undefined ? {} : { value: query })}
              {...(onQueryChange ? { onValueChange: (next: string) => onQueryChange(next) } : {})}
            >
              <div className={styles.search}>
                <Search aria-hidden />
                <Autocomplete.Input
                  dir="auto"
                  className={styles.input}
                  aria-label={name}
                  placeholder={title ?? t("palette.placeholder")}
                />
                <KeyHint keys="escape" />
              </div>
              <Dialog.Close className="visually-hidden">{t("action.close")}</Dialog.Close>
              <div className={styles.scroller}>
                <Autocomplete.Empty className={styles.empty}>
                  {t("palette.empty")}
                </Autocomplete.Empty>
                <Autocomplete.List>
                  {(group: PaletteGroup) => (
                    <Autocomplete.Group key={group.value} items={group.items}>
                      <Autocomplete.GroupLabel className={styles.group}>
                        {group.value}
                      </Autocomplete.GroupLabel>
                      <Autocomplete.Collection>
                        {(item: PaletteItem) => <Row key={item.id} item={item} onRun={run} />}
                      </Autocomplete.Collection>
                    </Autocomplete.Group>
                  )}
                </Autocomplete.List>
              </div>
            </Autocomplete.Root>
          </Dialog.Popup>
        </Dialog.Viewport>
      </Dialog.Portal>
    </Dialog.Root>
  );
}
