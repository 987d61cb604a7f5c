import styles from "./PriorityGlyph.module.css";

export interface PriorityGlyphProps {
  /** 0 to 4; how many of the steps are taken. */
  readonly level: 0 | 1 | 2 | 3 | 4;
  /** Its name; pass "" beside a visible one. */
  readonly label: string;
  readonly size?: number;
}

const bars = [5, 8, 11] as const;

/** Rising bars; the highest level is a mark of its own, told apart without colour. */
export function PriorityGlyph({ level, label, size = 14 }: PriorityGlyphProps) {
  const name = label ? { role: "img", "aria-label": label } : { "aria-hidden": true as const };
  return (
    <svg viewBox="0 0 16 16" width={size} height={size} className={styles.glyph} {...name}>
      {level === 4 ? (
        <>
          <rect x="1.5" y="1.5" width="13" height="13" rx="3" className={styles.urgent} />
          <path d="M8 4.4v4.4M8 11.4v.1" className={styles.cut} />
        </>
      ) : (
        bars.map((height, index) => (
          <rect
            key={height}
            x={2 + index * 4.5}
            y={13 - height}
            width="3"
            height={height}
            rx="1"
            className={index < level ? styles.taken : styles.free}
          />
        ))
      )}
    </svg>
  );
}
