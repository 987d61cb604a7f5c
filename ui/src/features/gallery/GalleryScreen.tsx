import { useState } from "react";
import { useTranslation } from "react-i18next";
import { Screen } from "#ui/app/Screen.tsx";
import { SegmentedControl } from "#ui/components/SegmentedControl.tsx";
import { Actions } from "./Actions.tsx";
import { Content } from "./Content.tsx";
import { Feedback } from "./Feedback.tsx";
import { Fields } from "./Fields.tsx";
import { Foundations } from "./Foundations.tsx";
import styles from "./Gallery.module.css";

type View = "both" | "light" | "dark";

/** Every primitive in every state, side by side in both themes. Sample text is not translated. */
export default function GalleryScreen() {
  const { t } = useTranslation();
  const [view, setView] = useState<View>("both");
  const themes = view === "both" ? (["light", "dark"] as const) : [view];
  return (
    <Screen
      title={t("nav.gallery")}
      filters={
        <SegmentedControl
          label={t("settings.theme")}
          value={view}
          segments={[
            { value: "both", label: t("gallery.both") },
            { value: "light", label: t("theme.light") },
            { value: "dark", label: t("theme.dark") },
          ]}
          onChange={setView}
        />
      }
    >
      <div className={styles.themes}>
        {themes.map((theme) => (
          <div key={theme} className={styles.theme} data-theme={theme}>
            <Foundations />
            <Actions />
            <Fields />
            <Feedback />
            <Content />
          </div>
        ))}
      </div>
    </Screen>
  );
}
