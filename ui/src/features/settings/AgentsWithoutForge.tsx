/** How long agents keep running while Forge is not. */
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { useOp, useOpMutation } from "#ui/api/client.ts";
import { ErrorState } from "#ui/components/ErrorState.tsx";
import { SkeletonText } from "#ui/components/Skeleton.tsx";
import { NumberRow } from "./NumberRow.tsx";
import { Section } from "./Section.tsx";
import styles from "./SettingsScreen.module.css";

export function AgentsWithoutForge() {
  const { t } = useTranslation();
  const settings = useOp("settings_get", {});
  const read = () => void settings.refetch();
  const update = useOpMutation("settings_update", { onSuccess: read });
  const content = (): ReactNode => {
    if (settings.data) {
      return (
        <NumberRow
          label={t("agentsWithoutForge.minutes")}
          hint={t("agentsWithoutForge.minutesHint")}
          saved={settings.data.orphan_minutes}
          draft="orphan_minutes"
          save={(orphan_minutes) => update.mutateAsync({ orphan_minutes })}
        />
      );
    }
    if (settings.error) {
      return (
        <ErrorState title={t("agentsWithoutForge.failed")} error={settings.error} onRetry={read} />
      );
    }
    return (
      <div className={styles.waiting} aria-busy>
        <SkeletonText lines={2} />
      </div>
    );
  };
  return <Section title={t("agentsWithoutForge.title")}>{content()}</Section>;
}
