import { parseAnsi, type AnsiSpan, type AnsiStyle } from "./ansi.ts";
import { cx } from "./cx.ts";
import { cutAtLinks, type TextLink } from "./textLinks.ts";
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

export interface AnsiTextProps {
  readonly text: string;
  /** What leads somewhere, of the text without its colours. */
  readonly linksIn?: ((text: string) => readonly TextLink[]) | undefined;
}

/** A short piece of terminal output. Long logs come as spans from the engine, in a VirtualList. */
export function AnsiText({ text, linksIn }: AnsiTextProps) {
  const spans = parseAnsi(text);
  const links = linksIn?.(spans.map((span) => span.text).join("")) ?? [];
  if (links.length === 0) return <AnsiSpans spans={spans} />;
  return cutAtLinks(spans, links).map((run, index) =>
    run.href === undefined ? (
      <AnsiSpans key={index} spans={run.spans} />
    ) : (
      <a key={index} className={styles.link} href={run.href}>
        <AnsiSpans spans={run.spans} />
      </a>
    ),
  );
}
