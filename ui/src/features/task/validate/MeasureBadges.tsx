/** What stands out of the measures of an attempt, a badge each. */
import { useTranslation } from "react-i18next";
import type { Measures } from "#ui/api/generated.ts";
import { Badge } from "#ui/components/Badge.tsx";

const signed = new Intl.NumberFormat(navigator.language, {
  signDisplay: "exceptZero",
  maximumFractionDigits: 0,
});

export function MeasureBadges({ measures }: { measures: Measures }) {
  const { t } = useTranslation();
  const { recommendation, sameAsPrev, oscillating, velocity } = measures;
  return (
    <>
      {recommendation === "ESCALATE" && <Badge tone="danger">{t("validate.stuck")}</Badge>}
      {sameAsPrev && <Badge tone="warning">{t("validate.same")}</Badge>}
      {oscillating && <Badge tone="warning">{t("validate.oscillating")}</Badge>}
      {velocity !== null && (
        <Badge look="outline">
          {t("validate.velocity", { points: signed.format(velocity * 100) })}
        </Badge>
      )}
    </>
  );
}
