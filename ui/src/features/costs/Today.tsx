/** What a project's runs of today cost, will have cost at the end of the day, and may cost. */
import { TriangleAlert } from "lucide-react";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { useOp } from "#ui/api/client.ts";
import { errorText } from "#ui/api/error.ts";
import type { CostForecast } from "#ui/api/generated.ts";
import { Badge } from "#ui/components/Badge.tsx";
import { Banner } from "#ui/components/Banner.tsx";
import { cx } from "#ui/components/cx.ts";
import { Meter } from "#ui/components/Meter.tsx";
import { RelativeTime } from "#ui/components/RelativeTime.tsx";
import { Skeleton } from "#ui/components/Skeleton.tsx";
import { clock, money, share } from "./numbers.ts";
import { usedOf } from "./dayLimit.ts";
import styles from "./Costs.module.css";

/** The pace falls while nothing runs, of which no change tells. */
const everyMinute = () => 60_000;

function Figure({
  name,
  value,
  children,
}: {
  name: string;
  value: ReactNode;
  children: ReactNode;
}) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>
        {value}
        <small>{children}</small>
      </dd>
    </div>
  );
}

function Limit({ forecast, limit }: { forecast: CostForecast; limit: number }) {
  const { t } = useTranslation();
  const { part, standing } = usedOf(forecast.today_micro_usd, limit);
  return (
    <Figure name={t("costPage.dayLimit")} value={money(limit)}>
      <Meter
        label={t("costPage.dayLimitUsed")}
        percent={Math.round(part * 100)}
        text={share(part)}
        isHigh={standing !== "enough"}
      />
      {standing === "near" && (
        <Badge tone="warning" icon={<TriangleAlert />}>
          {t("costPage.nearLimit")}
        </Badge>
      )}
    </Figure>
  );
}

/** When the limit is reached; nothing is said of it before there is a forecast. */
function Reached({ forecast, limit }: { forecast: CostForecast; limit: number }) {
  const { t } = useTranslation();
  const { reaches_limit_at: at, day_end_micro_usd: end, day_ends_at: dayEnd } = forecast;
  const name = t("costPage.limitReached");
  const warned = (text: string) => (
    <span className={styles.warned}>
      <TriangleAlert aria-hidden />
      {text}
    </span>
  );
  if (usedOf(forecast.today_micro_usd, limit).standing === "reached") {
    return (
      <Figure name={name} value={warned(t("costPage.reachedNow"))}>
        {t("costPage.runsWait", { time: clock(dayEnd) })}
      </Figure>
    );
  }
  if (at !== null) {
    return (
      <Figure name={name} value={warned(clock(at))}>
        <RelativeTime at={at} isAhead />
      </Figure>
    );
  }
  if (end === null) return null;
  return (
    <Figure name={name} value={t("costPage.notToday")}>
      {t("costPage.pace")}
    </Figure>
  );
}

export function Today({ project }: { project: string }) {
  const { t } = useTranslation();
  const { data, error } = useOp(
    "cost_forecast",
    { project_id: project },
    { keepPrevious: true, everyMs: everyMinute },
  );
  if (error) {
    return (
      <Banner tone="danger" title={t("costPage.forecastFailed")}>
        {errorText(error)}
      </Banner>
    );
  }
  if (!data) return <Skeleton width="100%" height={96} />;
  const { today_micro_usd: today, day_end_micro_usd: end, limit_micro_usd: limit } = data;
  return (
    <section className={styles.section} aria-labelledby="costs-today">
      <div className={styles.head}>
        <h2 id="costs-today">{t("costPage.today")}</h2>
      </div>
      <dl className={cx(styles.figures, styles.today)}>
        <Figure
          name={t("costPage.soFar")}
          value={today === null ? t("costPage.unknown") : money(today)}
        >
          {t("costPage.startedToday")}
        </Figure>
        {end !== null && (
          <Figure name={t("costPage.forecast")} value={money(end)}>
            {t("costPage.pace")}
          </Figure>
        )}
        {limit !== null && <Limit forecast={data} limit={limit} />}
        {limit !== null && <Reached forecast={data} limit={limit} />}
      </dl>
    </section>
  );
}
