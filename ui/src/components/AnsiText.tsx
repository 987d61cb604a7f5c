import { parseAnsi, type AnsiSpan, type AnsiStyle } from "./ansi.ts";
import { cx } from "./cx.ts";
import styles from "./AnsiText.module.css";

const colour = (value: number | string | undefined, otherwise: string): string => {
  if (value === undefined) return otherwise;
  return typeof value === "number" ? `var(--ansi-${value})` : value;
};

function inline({ fg, bg, inverse }: AnsiStyle): React.CSSProperties | undefined {
  if (fg === undefined && bg === undefined && !inverse) return undefined;
  const ink = colour(fg, "inherit");
  const ground = colour(bg, "transparent");
  if (!inverse) return { color: ink, backgroundColor: ground };
  return {
    color: bg === undefined ? "var(--surface-code)" : ground,
    backgroundColor: fg === undefined ? "var(--text-1)" : ink,
  };
}

export function AnsiSpans({ spans }: { spans: readonly AnsiSpan[] }) {
  return spans.map(({ text, style }, index) => (
    <span
      key={index}
      className={cx(
        style.bold && styles.bold,
        style.dim && styles.dim,
        style.italic && styles.italic,
        style.underline && styles.underline,
        style.strike && styles.strike,
      )}
      style={inline(style)}
    >
      {text}
    </span>
  ));
}

/** A short piece of terminal output. Long logs come as spans from the engine, in a VirtualList. */
export function AnsiText({ text }: { text: string }) {
  return <AnsiSpans spans={parseAnsi(text)} />;
}
