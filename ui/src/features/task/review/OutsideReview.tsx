/** What a task holds besides the commit that its review is about. */
import { useTranslation } from "react-i18next";
import type { WorkChanged } from "#ui/api/generated.ts";

export function OutsideReview({ changed }: { changed: WorkChanged }) {
  const { t } = useTranslation();
  const { commits, uncommitted } = changed;
  const parts = [
    ...(uncommitted.length > 0 ? [t("review.files", { count: uncommitted.length })] : []),
    ...(commits > 0 || uncommitted.length === 0 ? [t("review.commits", { count: commits })] : []),
  ];
  return (
    <span title={uncommitted.join("\n")}>{t("review.outside", { parts: parts.join(", ") })}</span>
  );
}
