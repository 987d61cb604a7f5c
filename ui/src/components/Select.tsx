import { Select as Base } from "@base-ui/react/select";
import { Check, ChevronsUpDown } from "lucide-react";
import { useId, type ReactNode } from "react";
import { Stack } from "./Stack.tsx";
import layout from "./layout.module.css";
import styles from "./Select.module.css";

export interface SelectOption<Value extends string> {
  readonly value: Value;
  readonly label: string;
  readonly icon?: ReactNode;
  readonly note?: string;
  readonly disabled?: boolean;
}

export interface SelectProps<Value extends string> {
  readonly label: string;
  /** The label is read to assistive technology but not shown. */
  readonly hideLabel?: boolean;
  readonly value: Value | null;
  readonly options: readonly SelectOption<Value>[];
  readonly onChange: (value: Value) => void;
  readonly placeholder?: string;
  readonly disabled?: boolean;
  readonly size?: "sm" | "md";
  readonly hint?: ReactNode;
  /** What is wrong with the value. */
  readonly error?: string | undefined;
}

export function Select<Value extends string>({
  label,
  hideLabel = false,
  value,
  options,
  onChange,
  placeholder,
  disabled = false,
  size = "md",
  hint,
  error,
}: SelectProps<Value>) {
  const id = useId();
  const chosen = options.find((option) => option.value === value);
  const described = [hint && `${id}-hint`, error && `${id}-error`].filter(Boolean).join(" ");
  return (
    <Stack gap={1} shrink>
      {!hideLabel && <span className={styles.label}>{label}</span>}
      <Base.Root
        value={value}
        items={options}
        disabled={disabled}
        onValueChange={(next: Value | null) => {
          if (next !== null) onChange(next);
        }}
      >
        <Base.Trigger
          className={styles.trigger}
          data-size={size}
          aria-label={label}
          aria-describedby={described || undefined}
          aria-invalid={error ? true : undefined}
        >
          {chosen?.icon}
          <Base.Value dir="auto" className={styles.value} placeholder={placeholder} />
          <Base.Icon className={styles.icon}>
            <ChevronsUpDown />
          </Base.Icon>
        </Base.Trigger>
        <Base.Portal>
          <Base.Positioner
            className={styles.positioner}
            sideOffset={4}
            alignItemWithTrigger={false}
          >
            <Base.Popup className={styles.popup}>
              {options.map((option) => (
                <Base.Item
                  key={option.value}
                  value={option.value}
                  disabled={option.disabled ?? false}
                  className={styles.item}
                >
                  {option.icon}
                  <Stack as="span" fill>
                    <Base.ItemText dir="auto">{option.label}</Base.ItemText>
                    {option.note && <span className={layout.noteSmall}>{option.note}</span>}
                  </Stack>
                  <Base.ItemIndicator className={styles.check}>
                    <Check />
                  </Base.ItemIndicator>
                </Base.Item>
              ))}
            </Base.Popup>
          </Base.Positioner>
        </Base.Portal>
      </Base.Root>
      {hint && (
        <span id={`${id}-hint`} className={layout.note}>
          {hint}
        </span>
      )}
      {error && (
        <span id={`${id}-error`} className={layout.error}>
          {error}
        </span>
      )}
    </Stack>
  );
}
