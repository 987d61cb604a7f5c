/** How the window looks on this computer. A choice is applied at once. */
import { useTranslation } from "react-i18next";
import { SegmentedControl } from "#ui/components/SegmentedControl.tsx";
import {
  densities,
  setPreference,
  textSizes,
  themes,
  usePreference,
  type TextSize,
} from "#ui/store/preferences.ts";
import { percent } from "#ui/domain/percent.ts";
import { Row, Section } from "./Section.tsx";

export function Appearance() {
  const { t } = useTranslation();
  const theme = usePreference("theme");
  const density = usePreference("density");
  const textSize = usePreference("textSize");
  return (
    <Section title={t("settings.appearance")}>
      <Row label={t("settings.theme")} hint={t("settings.themeHint")}>
        <SegmentedControl
          label={t("settings.theme")}
          value={theme}
          segments={themes.map((value) => ({ value, label: t(`theme.${value}`) }))}
          onChange={(value) => setPreference("theme", value)}
        />
      </Row>
      <Row label={t("settings.density")} hint={t("settings.densityHint")}>
        <SegmentedControl
          label={t("settings.density")}
          value={density}
          segments={densities.map((value) => ({ value, label: t(`density.${value}`) }))}
          onChange={(value) => setPreference("density", value)}
        />
      </Row>
      <Row label={t("settings.textSize")}>
        <SegmentedControl
          label={t("settings.textSize")}
          value={String(textSize)}
          segments={textSizes.map((size) => ({ value: String(size), label: percent(size / 100) }))}
          onChange={(value) => setPreference("textSize", Number(value) as TextSize)}
        />
      </Row>
    </Section>
  );
}
