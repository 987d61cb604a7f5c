/** Hidden lines between changes, and the ways to show them. */
import { ArrowDownFromLine, ArrowUpFromLine, UnfoldVertical } from "lucide-react";
import { useTranslation } from "react-i18next";
import { IconButton } from "#ui/components/IconButton.tsx";
import { whole } from "../numbers.ts";
import type { Gap } from "./context.ts";
import { stepLines } from "./loader.ts";
import styles from "./GapRow.module.css";

export interface GapRowProps {
  readonly gap: Gap | null;
  /** Null below the last change. */
  readonly header: string | null;
  readonly oldNo: number;
  readonly newNo: number;
  readonly busy: boolean;
  /** Shows these lines; to the end of the file without `to`. */
  readonly onShow: (from: number, to: number | null) => void;
}

export function GapRow({ gap, header, oldNo, newNo, busy, onShow }: GapRowProps) {
  const { t } = useTranslation();
  const count = gap === null || gap.to === null ? null : gap.to - gap.from + 1;
  const isShort = count !== null && count <= stepLines;
  return (
    <div
      className={styles.gap}
      role="group"
      aria-label={t("diff.context.label", { line: whole(newNo) })}
    >
      {gap && !isShort && gap.above && (
        <IconButton
          label={t("diff.context.down", { lines: stepLines })}
          icon={<ArrowDownFromLine />}
          size="sm"
          disabled={busy}
          onClick={() => onShow(gap.from, gap.from + stepLines - 1)}
        />
      )}
      {gap?.to && !isShort && gap.below && (
        <IconButton
          label={t("diff.context.up", { lines: stepLines })}
          icon={<ArrowUpFromLine />}
          size="sm"
          disabled={busy}
          onClick={() => onShow((gap.to ?? 0) - stepLines + 1, gap.to)}
        />
      )}
      {gap && (
        <IconButton
          label={
            count === null
              ? t("diff.context.rest")
              : t("diff.context.all", { count, shown: whole(count) })
          }
          icon={<UnfoldVertical />}
          size="sm"
          disabled={busy}
          onClick={() => onShow(gap.from, gap.to)}
        />
      )}
      {header === null ? (
        <span className={styles.header}>{t("diff.context.below")}</span>
      ) : (
        <>
          <span className={styles.place}>{`@@ -${oldNo} +${newNo} @@`}</span>
          <span className={styles.header}>{header}</span>
        </>
      )}
    </div>
  );
}
