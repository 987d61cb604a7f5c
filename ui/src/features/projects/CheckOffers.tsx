/** Checks that the repository's files imply, where the project has none: each is put in force by one click. */
import { ListChecks } from "lucide-react";
import { useTranslation } from "react-i18next";
import { useOp, useOpMutation } from "#ui/api/client.ts";
import { errorText } from "#ui/api/error.ts";
import { Banner } from "#ui/components/Banner.tsx";
import { Button } from "#ui/components/Button.tsx";
import { Stack } from "#ui/components/Stack.tsx";
import { useSettings } from "./settingsContext.ts";
import layout from "#ui/components/layout.module.css";
import styles from "./settings.module.css";

export function CheckOffers({ projectId }: { projectId: string }) {
  const { t } = useTranslation();
  const offers = useOp("project_check_offers", { project_id: projectId }).data?.items ?? [];
  const take = useOpMutation("project_checks_take");
  // The offer is saved at once, past what is written: beside a draft of the same list one of both would be lost.
  const isOff = useSettings().isChanged("review_config.ci_steps");
  if (offers.length === 0) return null;
  const use = (commands: string[]) => take.mutate({ project_id: projectId, commands });
  return (
    <section className={styles.card} aria-labelledby="check-offers">
      <div className={styles.offerHead}>
        <ListChecks aria-hidden />
        <div>
          <h2 id="check-offers">{t("projectSettings.offers")}</h2>
          <p className={layout.note}>{t("projectSettings.offersHint")}</p>
        </div>
        {offers.length > 1 && (
          <div className={styles.offerAll}>
            <Button
              size="sm"
              variant="primary"
              busy={take.isPending}
              disabled={isOff}
              onClick={() => use(offers.map(({ command }) => command))}
            >
              {t("projectSettings.offerUseAll", { count: offers.length })}
            </Button>
          </div>
        )}
      </div>
      {take.error && (
        <Banner tone="danger" title={t("projectSettings.offersFailed")}>
          {errorText(take.error)}
        </Banner>
      )}
      <ul>
        {offers.map(({ command, source }) => (
          <li key={command} className={styles.offer}>
            <Stack gap={1} shrink>
              <code>{command}</code>
              <span className={layout.note}>{t("projectSettings.offerBy", { source })}</span>
            </Stack>
            <Button
              size="sm"
              busy={take.isPending}
              disabled={isOff}
              aria-label={t("projectSettings.offerUseOf", { command })}
              onClick={() => use([command])}
            >
              {t("projectSettings.offerUse")}
            </Button>
          </li>
        ))}
      </ul>
    </section>
  );
}
