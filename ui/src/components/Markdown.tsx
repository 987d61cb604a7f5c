import { lazy, Suspense } from "react";
import styles from "./Markdown.module.css";

const MarkdownBody = lazy(() => import("./MarkdownBody.tsx"));

export interface MarkdownProps {
  readonly source: string;
  /** Every followed link ends here; the page itself never navigates. */
  readonly onLink: (href: string) => void;
}

/**
 * What an agent or a person wrote. Made into elements, never into markup: raw HTML is dropped,
 * the tree is sanitised, and images are named instead of fetched. The parser is loaded on first
 * use; until then the source stands in.
 */
export function Markdown(props: MarkdownProps) {
  return (
    <div className={styles.prose} data-selectable>
      <Suspense fallback={<p className={styles.plain}>{props.source}</p>}>
        <MarkdownBody {...props} />
      </Suspense>
    </div>
  );
}
