import { useMemo } from "react";
import { AnsiText } from "#ui/components/AnsiText.tsx";
import type { TextLink } from "#ui/components/textLinks.ts";
import { VirtualList } from "#ui/components/VirtualList.tsx";
import { rowHeight, useRows } from "#ui/components/rows.ts";
import styles from "./TextLines.module.css";

const lineHeight = 20;
const padding = 8;

/** A text of any length, by the line; only what is in sight is parsed and drawn. */
export function TextLines({
  text,
  label,
  fromEnd = false,
  look = "tall",
  onStartReached,
  linksIn,
}: {
  text: string;
  label: string;
  fromEnd?: boolean;
  look?: "tall" | "inline";
  onStartReached?: (() => void) | undefined;
  /** What leads somewhere in a line. */
  linksIn?: ((text: string) => readonly TextLink[]) | undefined;
}) {
  const rows = useRows();
  // Lines are named from the end when they grow at the beginning.
  const lines = useMemo(() => text.replace(/\n$/, "").split("\n"), [text]);
  return (
    <div
      className={styles.frame}
      style={
        look === "inline"
          ? { height: lines.length * rowHeight(rows, lineHeight) + 2 * padding }
          : undefined
      }
      data-look={look}
      data-selectable
    >
      <VirtualList
        items={lines}
        keyOf={(_, index) => String(fromEnd ? index - lines.length : index)}
        rowHeight={lineHeight}
        padding={padding}
        overscan={20}
        label={label}
        role="log"
        fromEnd={fromEnd}
        onStartReached={onStartReached}
      >
        {(line) => (
          <div className={styles.line}>
            <AnsiText text={line} linksIn={linksIn} />
          </div>
        )}
      </VirtualList>
    </div>
  );
}
