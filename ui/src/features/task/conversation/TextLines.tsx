import { useMemo } from "react";
import { AnsiText } from "#ui/components/AnsiText.tsx";
import { VirtualList } from "#ui/components/VirtualList.tsx";
import styles from "./TextLines.module.css";

/** A text of any length, by the line; only what is in sight is parsed and drawn. */
export function TextLines({
  text,
  label,
  fromEnd = false,
  onStartReached,
}: {
  text: string;
  label: string;
  fromEnd?: boolean;
  onStartReached?: (() => void) | undefined;
}) {
  // Lines are named from the end when they grow at the beginning.
  const lines = useMemo(() => text.replace(/\n$/, "").split("\n"), [text]);
  return (
    <div className={styles.frame} data-selectable>
      <VirtualList
        items={lines}
        keyOf={(_, index) => String(fromEnd ? index - lines.length : index)}
        rowHeight={19}
        padding={8}
        overscan={20}
        label={label}
        role="log"
        fromEnd={fromEnd}
        onStartReached={onStartReached}
      >
        {(line) => (
          <div className={styles.line}>
            <AnsiText text={line} />
          </div>
        )}
      </VirtualList>
    </div>
  );
}
