import { ArrowDown, ArrowUp, ChevronRight, CircleAlert, Copy, Trash2 } from "lucide-react";
import { useId, type KeyboardEvent, type ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { Badge } from "./Badge.tsx";
import { IconButton } from "./IconButton.tsx";
import styles from "./OrderedItem.module.css";

export interface OrderedItemProps {
  readonly index: number;
  /** How many items the list has that can be moved. */
  readonly count: number;
  /** Where the item is in what is edited, for what leads to a place. */
  readonly place?: string;
  /** The line's accessible name, where its text alone does not say which item it is. */
  readonly name?: string;
  /** The line: what the item is, and badges. */
  readonly line: ReactNode;
  /** How many problems are in it. */
  readonly problems: number;
  /** Further buttons, before those that move it. */
  readonly tools?: ReactNode;
  readonly labels: {
    readonly up: string;
    readonly down: string;
    readonly duplicate: string;
    readonly remove: string;
  };
  readonly isOpen: boolean;
  readonly onOpen: (wanted: boolean) => void;
  readonly onMove: (to: number) => void;
  /** None where there is no room for another one. */
  readonly onDuplicate: (() => void) | null;
  readonly onRemove: () => void;
  /** What is behind the line. */
  readonly children: ReactNode;
}

/** Moves the focus along with the item, which is another row then. */
function followTo(list: Element | null, to: number): void {
  requestAnimationFrame(() => {
    list?.children[to]?.querySelector<HTMLElement>("button")?.focus();
  });
}

function Tools(props: OrderedItemProps) {
  const { index, count, tools, labels, onMove, onDuplicate, onRemove } = props;
  return (
    <span className={styles.tools}>
      {tools}
      <IconButton
        size="sm"
        label={labels.up}
        keys="alt+up"
        icon={<ArrowUp />}
        disabled={index === 0}
        onClick={() => onMove(index - 1)}
      />
      <IconButton
        size="sm"
        label={labels.down}
        keys="alt+down"
        icon={<ArrowDown />}
        disabled={index === count - 1}
        onClick={() => onMove(index + 1)}
      />
      <IconButton
        size="sm"
        label={labels.duplicate}
        icon={<Copy />}
        disabled={onDuplicate === null}
        onClick={() => onDuplicate?.()}
      />
      <IconButton size="sm" label={labels.remove} icon={<Trash2 />} onClick={onRemove} />
    </span>
  );
}

/** An item of an ordered list (`ol`): a line, and behind it its fields. Alt with an arrow moves it. */
export function OrderedItem(props: OrderedItemProps) {
  const { index, count, place, name, line, problems, isOpen, onOpen, onMove, children } = props;
  const { t } = useTranslation();
  const id = useId();
  const found = problems > 0 ? t("hooks.findings", { count: problems }) : null;
  const onKeyDown = (pressed: KeyboardEvent<HTMLButtonElement>) => {
    const by = { ArrowUp: -1, ArrowDown: 1 }[pressed.key];
    if (!pressed.altKey || by === undefined) return;
    pressed.preventDefault();
    const to = index + by;
    if (to < 0 || to >= count) return;
    onMove(to);
    followTo(pressed.currentTarget.closest("ol"), to);
  };
  return (
    <li className={styles.item} data-path={place} data-open={isOpen || undefined}>
      <div className={styles.head}>
        <button
          type="button"
          className={styles.button}
          aria-expanded={isOpen}
          aria-controls={id}
          aria-keyshortcuts="Alt+ArrowUp Alt+ArrowDown"
          aria-label={name && found ? `${name} ${found}` : name}
          onClick={() => onOpen(!isOpen)}
          onKeyDown={onKeyDown}
        >
          <ChevronRight className={styles.chevron} aria-hidden />
          {line} {/* Words to whoever reads them, though the space between is the layout's. */}
          {found && (
            <Badge tone="danger" icon={<CircleAlert />}>
              {found}
            </Badge>
          )}
        </button>
        <Tools {...props} />
      </div>
      <div id={id} hidden={!isOpen}>
        {isOpen && <div className={styles.body}>{children}</div>}
      </div>
    </li>
  );
}
