import { useTranslation } from "react-i18next";
import { navigate } from "#ui/app/router.ts";
import { Screen } from "#ui/app/Screen.tsx";
import { ShortcutList } from "#ui/app/ShortcutsDialog.tsx";
import { Button } from "#ui/components/Button.tsx";
import { SegmentedControl } from "#ui/components/SegmentedControl.tsx";
import { usePlatform } from "#ui/platform/PlatformContext.tsx";
import { setPreference, usePreference, type Theme } from "#ui/store/preferences.ts";
import { AgentsWithoutForge } from "./AgentsWithoutForge.tsx";
import { ApiAccess } from "./ApiAccess.tsx";
import { Row, Section } from "./Section.tsx";
import { Storage } from "./Storage.tsx";
import styles from "./SettingsScreen.module.css";

const themes: readonly Theme[] = ["system", "light", "dark"];

export default function SettingsScreen() {
  const { t } = useTranslation();
  const { version } = usePlatform();
  const theme = usePreference("theme");
  return (
    <Screen title={t("nav.settings")} layout="page">
      <Section title={t("settings.appearance")}>
        <Row label={t("settings.theme")} hint={t("settings.themeHint")}>
          <SegmentedControl
            label={t("settings.theme")}
            value={theme}
            segments={themes.map((value) => ({ value, label: t(`theme.${value}`) }))}
            onChange={(value) => setPreference("theme", value)}
          />
        </Row>
      </Section>
      <AgentsWithoutForge />
      <ApiAccess />
      <Storage />
      <Section title={t("settings.keyboard")}>
        <div className={styles.body}>
          <ShortcutList />
        </div>
      </Section>
      <Section title={t("settings.about")}>
        <Row label={t("settings.version")}>
          <code data-selectable>{version}</code>
        </Row>
        <Row label={t("nav.gallery")} hint={t("settings.galleryHint")}>
          <Button onClick={() => navigate("gallery")}>{t("settings.openGallery")}</Button>
        </Row>
      </Section>
    </Screen>
  );
}
