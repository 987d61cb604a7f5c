import { keyParts } from "./combo.ts";
import styles from "./Kbd.module.css";

export function Kbd({ children }: { children: string }) {
  return <kbd className={styles.kbd}>{children}</kbd>;
}

/** A combination such as "mod+k", or a sequence such as "g b", written as this machine writes it. */
export function KeyHint({ keys, tone = "plain" }: { keys: string; tone?: "plain" | "solid" }) {
  return (
    <span className={styles.hint} data-tone={tone}>
      {keyParts(keys).map((part, index) => (
        <Kbd key={index}>{part}</Kbd>
      ))}
    </span>
  );
}
