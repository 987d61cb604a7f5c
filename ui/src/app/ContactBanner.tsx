/** Says on every screen that the engine of another computer cannot be reached. */
import { useTranslation } from "react-i18next";
import { Banner } from "#ui/components/Banner.tsx";
import { Button } from "#ui/components/Button.tsx";
import { useEngine } from "#ui/domain/engine/engine.ts";
import { usePlatform } from "#ui/platform/PlatformContext.tsx";
import styles from "./AppShell.module.css";

export function ContactBanner() {
  const { t } = useTranslation();
  const platform = usePlatform();
  const { host, contact } = useEngine();
  if (host === null || contact.state === "live") return null;
  return (
    <div className={styles.banner}>
      <Banner
        tone="warning"
        title={t("engine.unreachable", {
          host,
          time: new Date(contact.since).toLocaleTimeString(navigator.language, {
            timeStyle: "short",
          }),
        })}
        actions={<Button onClick={() => platform.reconnect()}>{t("engine.tryNow")}</Button>}
      >
        {contact.message} {contact.remedy}
      </Banner>
    </div>
  );
}
