import styles from "./Avatar.module.css";

export interface AvatarProps {
  readonly name: string;
  /** Overrides the hue that the name gives, 0 to 360. */
  readonly hue?: number;
  readonly size?: number;
  readonly live?: boolean;
}

/** Two letters: of the first two words, else the first two of the one. */
export function initials(name: string): string {
  const words = name.split(/[^\p{L}\p{N}]+/u).filter(Boolean);
  const letters =
    words.length > 1
      ? words.slice(0, 2).map((word) => word[0])
      : [...(words[0] ?? "?")].slice(0, 2);
  return letters.join("").toUpperCase();
}

/** A steady hue per name, spread over the circle by the golden angle. */
export function hueOf(name: string): number {
  let hash = 0;
  for (const character of name) hash = (hash * 31 + (character.codePointAt(0) ?? 0)) >>> 0;
  return Math.round((hash * 137.508) % 360);
}

export function Avatar({ name, hue = hueOf(name), size = 20, live = false }: AvatarProps) {
  return (
    <span
      className={styles.avatar}
      role="img"
      aria-label={name}
      data-live={live || undefined}
      // Drawn, not written: as text they would be read as part of what they stand in.
      data-initials={initials(name)}
      style={{ "--hue": hue, "--size": `${size}px` } as React.CSSProperties}
    />
  );
}
