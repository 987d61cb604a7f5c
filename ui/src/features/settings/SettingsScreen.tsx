import { useTranslation } from "react-i18next";
import { Screen } from "#ui/app/Screen.tsx";
import { ShortcutList } from "#ui/app/ShortcutsDialog.tsx";
import { usePlatform } from "#ui/platform/PlatformContext.tsx";
import { AgentsWithoutForge } from "./AgentsWithoutForge.tsx";
import { ApiAccess } from "./ApiAccess.tsx";
import { Appearance } from "./Appearance.tsx";
import { Health } from "./Health.tsx";
import { Row, Section } from "./Section.tsx";
import { Storage } from "./Storage.tsx";
import styles from "./SettingsScreen.module.css";

export default function SettingsScreen() {
  const { t } = useTranslation();
  const { version } = usePlatform();
  return (
    <Screen title={t("nav.settings")} layout="page">
      <Appearance />
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
        <Health />
      </Section>
    </Screen>
  );
}
