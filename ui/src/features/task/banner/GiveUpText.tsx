import { useTranslation } from "react-i18next";
import layout from "#ui/components/layout.module.css";
import { Stack } from "#ui/components/Stack.tsx";

/** What is lost and what is kept when a task goes on without its machine. Of a job that has not begun nothing is. */
export function GiveUpText({ queued }: { queued: boolean }) {
  const { t } = useTranslation();
  if (queued) {
    return (
      <Stack as="span" gap={2}>
        <span>{t("machines.giveUp.job")}</span>
        <span>{t("machines.giveUp.again")}</span>
      </Stack>
    );
  }
  return (
    <Stack as="span" gap={2}>
      <span>{t("machines.giveUp.lost")}</span>
      <span>{t("machines.giveUp.kept")}</span>
      <span className={layout.soft}>{t("machines.giveUp.later")}</span>
    </Stack>
  );
}
