import { useTranslation } from "react-i18next";
import type { FileChangeKind } from "#ui/api/generated.ts";
import styles from "./KindMark.module.css";

const letters: Readonly<Record<FileChangeKind, string>> = {
  added: "A",
  deleted: "D",
  modified: "M",
  renamed: "R",
  copied: "C",
  type_changed: "T",
  mode_changed: "X",
};

/** One letter, as git has it; its meaning is its name. */
export function KindMark({ kind }: { kind: FileChangeKind }) {
  const { t } = useTranslation();
  return (
    <span
      className={styles.mark}
      data-kind={kind}
      role="img"
      aria-label={t(`diff.kind.${kind}`)}
      title={t(`diff.kind.${kind}`)}
    >
      {letters[kind]}
    </span>
  );
}
