/** One place in conflict, each side's lines under its name. */
import { useTranslation } from "react-i18next";
import type { Block, Place } from "./places.ts";
import styles from "./PlaceView.module.css";

function Lines({ block, name }: { block: Block; name: string | null }) {
  const { t } = useTranslation();
  const lines = block.lines.map((line, index) => (
    <span key={index} className={styles.line}>
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
      {lines.length === 0 && <i className={styles.nothing}>{t("conflict.nothing")}</i>}
    </code>
  );
}

export function PlaceView({
  place,
  target,
  label,
}: {
  place: Place;
  target: string;
  label: string;
}) {
  const { t } = useTranslation();
  const names = { ours: target, base: t("conflict.base"), theirs: t("conflict.theirs") };
  return (
    <figure className={styles.place}>
      <figcaption className={styles.caption}>{label}</figcaption>
      <pre
        className={styles.code}
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
          />
        ))}
      </pre>
    </figure>
  );
}
