import { Checkbox as Base } from "@base-ui/react/checkbox";
import { Check, Minus } from "lucide-react";
import { useId, type ReactNode } from "react";
import { Stack } from "./Stack.tsx";
import layout from "./layout.module.css";
import styles from "./Checkbox.module.css";

export interface CheckboxProps {
  readonly label: string;
  readonly hideLabel?: boolean;
  readonly hint?: ReactNode;
  readonly checked: boolean;
  /** Some of what it stands for is checked. */
  readonly mixed?: boolean;
  readonly onChange: (checked: boolean) => void;
  readonly disabled?: boolean;
}

export function Checkbox({
  label,
  hideLabel = false,
  hint,
  checked,
  mixed = false,
  onChange,
  disabled = false,
}: CheckboxProps) {
  const id = useId();
  return (
    <div className={styles.row} data-disabled={disabled || undefined}>
      <Base.Root
        id={id}
        aria-label={hideLabel ? label : undefined}
        className={styles.box}
        checked={checked}
        indeterminate={mixed}
        onCheckedChange={(next) => onChange(next)}
        disabled={disabled}
      >
        <Base.Indicator className={styles.mark}>{mixed ? <Minus /> : <Check />}</Base.Indicator>
      </Base.Root>
      {!hideLabel && (
        <Stack htmlFor={id} as="label">
          {label}
          {hint && <span className={layout.note}>{hint}</span>}
        </Stack>
      )}
    </div>
  );
}
