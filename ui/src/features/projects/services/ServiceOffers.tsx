/** Services that the repository's files imply: each is the project's by one click; none is started. */
import { RadioTower } from "lucide-react";
import { useTranslation } from "react-i18next";
import { useOp, useOpMutation } from "#ui/api/client.ts";
import { errorText } from "#ui/api/error.ts";
import { Banner } from "#ui/components/Banner.tsx";
import { Button } from "#ui/components/Button.tsx";
import { Stack } from "#ui/components/Stack.tsx";
import layout from "#ui/components/layout.module.css";
import settings from "../settings.module.css";

export interface ServiceOffersProps {
  readonly projectId: string;
  /** What is edited and not saved would be at odds with what a click saves. */
  readonly isChanged: boolean;
}

export function ServiceOffers({ projectId, isChanged }: ServiceOffersProps) {
  const { t } = useTranslation();
  const offers = useOp("project_service_offers", { project_id: projectId }).data?.items ?? [];
  const take = useOpMutation("project_services_take");
  if (offers.length === 0) return null;
  const use = (name: string) => take.mutate({ project_id: projectId, names: [name] });
  return (
    <section className={settings.card} aria-labelledby="service-offers">
      <div className={settings.offerHead}>
        <RadioTower aria-hidden />
        <div>
          <h2 id="service-offers">{t("serviceSettings.offers")}</h2>
          <p className={layout.note}>{t("serviceSettings.offersHint")}</p>
          {isChanged && <p className={layout.note}>{t("serviceSettings.offersUnsaved")}</p>}
        </div>
      </div>
      {take.error && (
        <Banner tone="danger" title={t("serviceSettings.offersFailed")}>
          {errorText(take.error)}
        </Banner>
      )}
      <ul>
        {offers.map(({ service, source }) => (
          <li key={service.name} className={settings.offer}>
            <Stack gap={1} shrink>
              <span>{service.name}</span>
              <code className={layout.anywhere}>{service.command}</code>
              <span className={layout.note}>{t("projectSettings.offerBy", { source })}</span>
            </Stack>
            <Button
              size="sm"
              busy={take.isPending}
              disabled={isChanged}
              aria-label={t("serviceSettings.offerUseOf", { name: service.name, source })}
              onClick={() => use(service.name)}
            >
              {t("projectSettings.offerUse")}
            </Button>
          </li>
        ))}
      </ul>
    </section>
  );
}
