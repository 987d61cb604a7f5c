/** Services that the repository's files imply: each is the project's by one click; none is started. */
import { RadioTower } from "lucide-react";
import { useTranslation } from "react-i18next";
import { useOp, useOpMutation } from "#ui/api/client.ts";
import { errorText } from "#ui/api/error.ts";
import { findingsOf } from "#ui/api/findings.ts";
import type { ServiceDefinition } from "#ui/api/generated.ts";
import { Banner } from "#ui/components/Banner.tsx";
import { Button } from "#ui/components/Button.tsx";
import { Stack } from "#ui/components/Stack.tsx";
import { sentence } from "#ui/draft/findings.ts";
import layout from "#ui/components/layout.module.css";
import settings from "../settings.module.css";
import { definitionOf, formOf, freeName, maxServices } from "./form.ts";

export interface ServiceOffersProps {
  readonly projectId: string;
  readonly own: readonly ServiceDefinition[];
  /** Names that are the project's or the repository's. */
  readonly taken: readonly string[];
  /** What is edited and not saved would be at odds with what a click saves. */
  readonly isChanged: boolean;
}

export function ServiceOffers({ projectId, own, taken, isChanged }: ServiceOffersProps) {
  const { t } = useTranslation();
  const offers = useOp("project_service_offers", { project_id: projectId }).data?.items ?? [];
  const update = useOpMutation("project_settings_update");
  if (offers.length === 0) return null;
  const use = (service: ServiceDefinition) => {
    const added = definitionOf({ ...formOf(service), name: freeName(service.name, taken) });
    update.mutate({ project_id: projectId, services: [...own, added] });
  };
  const found = findingsOf(update.error).map(({ message }) => sentence(message));
  const why = isChanged
    ? t("serviceSettings.offersUnsaved")
    : own.length >= maxServices
      ? t("serviceSettings.full", { count: maxServices })
      : null;
  return (
    <section className={settings.card} aria-labelledby="service-offers">
      <div className={settings.offerHead}>
        <RadioTower aria-hidden />
        <div>
          <h2 id="service-offers">{t("serviceSettings.offers")}</h2>
          <p className={layout.note}>{t("serviceSettings.offersHint")}</p>
          {why && <p className={layout.note}>{why}</p>}
        </div>
      </div>
      {update.error && (
        <Banner tone="danger" title={t("serviceSettings.offersFailed")}>
          {found.length > 0 ? found.join(" ") : errorText(update.error)}
        </Banner>
      )}
      <ul>
        {offers.map(({ service, source }) => (
          <li key={`${source} ${service.name} ${service.command}`} className={settings.offer}>
            <Stack gap={1} shrink>
              <span>{service.name}</span>
              <code className={layout.anywhere}>{service.command}</code>
              <span className={layout.note}>
                {service.cwd
                  ? t("serviceSettings.offerIn", { source, folder: service.cwd })
                  : t("projectSettings.offerBy", { source })}
              </span>
            </Stack>
            <Button
              size="sm"
              busy={update.isPending}
              disabled={why !== null}
              aria-label={t("serviceSettings.offerUseOf", { name: service.name, source })}
              onClick={() => use(service)}
            >
              {t("projectSettings.offerUse")}
            </Button>
          </li>
        ))}
      </ul>
    </section>
  );
}
