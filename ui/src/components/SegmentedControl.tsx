import { Radio } from "@base-ui/react/radio";
import { RadioGroup } from "@base-ui/react/radio-group";
import type { ReactNode } from "react";
import styles from "./SegmentedControl.module.css";

export interface Segment<Value extends string> {
  readonly value: Value;
  readonly label: string;
  /** Shown instead of the label, which stays the name. */
  readonly icon?: ReactNode;
}

export interface SegmentedControlProps<Value extends string> {
  readonly label: string;
  readonly value: Value;
  readonly segments: readonly Segment<Value>[];
  readonly onChange: (value: Value) => void;
}

/** One of two to five, all in sight. */
export function SegmentedControl<Value extends string>({
  label,
  value,
  segments,
  onChange,
}: SegmentedControlProps<Value>) {
  return (
    <RadioGroup
      aria-label={label}
      className={styles.group}
      value={value}
      onValueChange={(next) => onChange(next as Value)}
    >
      {segments.map((segment) => (
        <Radio.Root
          key={segment.value}
          value={segment.value}
          className={styles.segment}
          aria-label={segment.label}
        >
          {segment.icon ?? segment.label}
        </Radio.Root>
      ))}
    </RadioGroup>
  );
}
