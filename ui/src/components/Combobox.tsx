import { Combobox as Base } from "@base-ui/react/combobox";
import { Check, ChevronsUpDown } from "lucide-react";
import { useTranslation } from "react-i18next";
import type { SelectOption } from "./Select.tsx";
import { Stack } from "./Stack.tsx";
import layout from "./layout.module.css";
import styles from "./Select.module.css";

export interface ComboboxProps<Value extends string> {
  readonly label: string;
  readonly hideLabel?: boolean;
  readonly value: Value | null;
  readonly options: readonly SelectOption<Value>[];
  readonly onChange: (value: Value | null) => void;
  readonly placeholder?: string;
  readonly disabled?: boolean;
  readonly autoFocus?: boolean;
  /** The options are what somebody else found for this text; they are not filtered here again. */
  readonly onSearch?: (text: string) => void;
}

/** A select one types into: for lists too long to scan. */
export function Combobox<Value extends string>({
  label,
  hideLabel = false,
  value,
  options,
  onChange,
  placeholder,
  disabled = false,
  autoFocus = false,
  onSearch,
}: ComboboxProps<Value>) {
  const { t } = useTranslation();
  const chosen = options.find((option) => option.value === value) ?? null;
  return (
    <Stack gap={1} shrink>
      {!hideLabel && (
        <span className={styles.label} aria-hidden>
          {label}
        </span>
      )}
      <Base.Root
        items={options}
        value={chosen}
        disabled={disabled}
        isItemEqualToValue={(one, other) => one.value === other.value}
        onValueChange={(next) => onChange(next?.value ?? null)}
        {...(onSearch ? { filter: null, onInputValueChange: onSearch } : {})}
      >
        <div className={styles.combo}>
          <Base.Input
            dir="auto"
            className={styles.input}
            placeholder={placeholder}
            aria-label={label}
            autoFocus={autoFocus}
          />
          <Base.Trigger className={styles.comboIcon} aria-label={t("action.openList")}>
            <ChevronsUpDown />
          </Base.Trigger>
        </div>
        <Base.Portal>
          <Base.Positioner className={styles.positioner} sideOffset={4}>
            <Base.Popup className={styles.popup}>
              <Base.Empty className={styles.empty}>{t("list.noMatch")}</Base.Empty>
              <Base.List>
                {(option: SelectOption<Value>) => (
                  <Base.Item
                    key={option.value}
                    value={option}
                    disabled={option.disabled ?? false}
                    className={styles.item}
                  >
                    {option.icon}
                    <Stack as="span" fill>
                      <bdi>{option.label}</bdi>
                      {option.note && <span className={layout.noteSmall}>{option.note}</span>}
                    </Stack>
                    <Base.ItemIndicator className={styles.check}>
                      <Check />
                    </Base.ItemIndicator>
                  </Base.Item>
                )}
              </Base.List>
            </Base.Popup>
          </Base.Positioner>
        </Base.Portal>
      </Base.Root>
    </Stack>
  );
}
