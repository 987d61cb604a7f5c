/** Says on every screen that the database takes no writes, or that space is running out. */
import { useTranslation } from "react-i18next";
import { useOp } from "#ui/api/client.ts";
import { Banner } from "#ui/components/Banner.tsx";
import { Button } from "#ui/components/Button.tsx";
import { navigate } from "./router.ts";
import { bytes } from "#ui/domain/size.ts";
import styles from "./AppShell.module.css";

export function StorageBanner() {
  const { t } = useTranslation();
  const { data } = useOp("storage_get", {});
  if (!data || (!data.problem && !data.low)) return null;
  const actions = (
    <Button onClick={() => navigate("settings", {}, { part: "storage" })}>
      {t("storage.banner.open")}
    </Button>
  );
  return (
    <div className={styles.banner}>
      {data.problem ? (
        <Banner tone="danger" title={t(`storage.banner.${data.problem.trouble}`)} actions={actions}>
          {t("storage.banner.waits")} {data.problem.remedy}
        </Banner>
      ) : (
        <Banner tone="warning" title={t("storage.banner.low")} actions={actions}>
          {t("storage.banner.lowText", { free: bytes(data.free_bytes ?? 0) })}
        </Banner>
      )}
    </div>
  );
}
