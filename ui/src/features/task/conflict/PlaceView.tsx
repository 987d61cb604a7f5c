/** One place in conflict, each side's lines under its name. */
import { useTranslation } from "react-i18next";
import { whole } from "../numbers.ts";
import { sideLines, type Block, type Place, type SideLines, type Starts } from "./places.ts";
import layout from "#ui/components/layout.module.css";
import styles from "./PlaceView.module.css";

function Lines({
  block,
  name,
  start,
}: {
  block: Block;
  name: string | null;
  /** The number of its first line in its side's file. */
  start: number | undefined;
}) {
  const { t } = useTranslation();
  const lines = block.lines.map((line, index) => (
    // Drawn beside the text, so that it is not copied with it.
    <span
      key={index}
      className={styles.line}
      data-number={start === undefined ? "" : whole(start + index)}
    >
      {line}
      {"\n"}
    </span>
  ));
  if (name === null) return <code className={styles.block}>{lines}</code>;
  return (
    <code className={styles.block} data-side={block.side}>
      <span className={styles.name}>
        {name}
        {"\n"}
      </span>
      {lines}
      {lines.length === 0 && <i className={layout.faint}>{t("conflict.nothing")}</i>}
    </code>
  );
}

export function PlaceView({
  place,
  starts,
  target,
  label,
}: {
  place: Place;
  starts: Starts;
  target: string;
  label: string;
}) {
  const { t } = useTranslation();
  const names = { ours: target, base: t("conflict.base"), theirs: t("conflict.theirs") };
  const said = ({ side, first, last }: SideLines): string => {
    const line = whole(first);
    const lines =
      last < first
        ? t("conflict.noLineAt", { line })
        : last === first
          ? t("conflict.lineAt", { line })
          : t("conflict.lineRange", { line, last: whole(last) });
    return t("conflict.linesAt", { name: names[side], lines });
  };
  const where = sideLines(place, starts).map(said);
  return (
    <figure className={styles.place}>
      <figcaption className={styles.caption}>{[label, ...where].join(" · ")}</figcaption>
      <pre
        className={styles.code}
        data-numbered={where.length > 0 || undefined}
        aria-label={label}
        // A scrolling region must be reachable by keyboard.
        // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
        tabIndex={0}
      >
        {place.map((block, index) => (
          <Lines
            key={index}
            block={block}
            name={block.side === "context" ? null : names[block.side]}
            start={block.side === "context" ? undefined : starts[block.side]}
          />
        ))}
      </pre>
    </figure>
  );
}
