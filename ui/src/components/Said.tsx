import styles from "./Said.module.css";

/** Words from the engine, in which a command or a path stands between backticks. */
export function Said({ text }: { text: string }) {
  // The odd parts of a text with whole pairs were quoted; half a pair is an ordinary character.
  const parts = text.split("`");
  if (parts.length < 3 || parts.length % 2 === 0) return text;
  return parts.map((part, index) =>
    index % 2 === 0 ? (
      part
    ) : (
      <code key={index} className={styles.code}>
        {part}
      </code>
    ),
  );
}
