/** How an agent's provider limits it: windows of its rate limits as the program last reported them, and a refusal. */
import { Ban, TriangleAlert } from "lucide-react";
import { useTranslation } from "react-i18next";
import type { AgentLimits, LimitWindow } from "#ui/api/generated.ts";
import { Badge } from "#ui/components/Badge.tsx";
import { Meter } from "#ui/components/Meter.tsx";
import { RelativeTime } from "#ui/components/RelativeTime.tsx";
import { percent } from "#ui/domain/percent.ts";
import { lengthOf, markOf } from "./windows.ts";
import styles from "./ProviderLimits.module.css";

function useWindowName(window: LimitWindow): string {
  const { t } = useTranslation();
  const named = lengthOf(window);
  return named.unit === "unknown"
    ? named.name
    : t(`agents.windowLength.${named.unit}`, { length: named.length });
}

function WindowRow({ window }: { window: LimitWindow }) {
  const { t } = useTranslation();
  const name = useWindowName(window);
  const mark = markOf(window);
  return (
    <li className={styles.window}>
      <span className={styles.name}>{name}</span>
      <Meter
        label={t("agents.windowUsed", { name })}
        percent={window.used_percent}
        text={percent(window.used_percent / 100)}
        isHigh={mark !== null}
      />
      <span className={styles.notes}>
        {mark && (
          <Badge tone="warning" icon={<TriangleAlert />}>
            {t(`agents.windowMark.${mark}`)}
          </Badge>
        )}
        {window.resets_at !== null && (
          <span>
            {t("agents.windowResets")} <RelativeTime at={window.resets_at} isAhead />
          </span>
        )}
        <span className={styles.seen}>
          {t("agents.windowSeen")} <RelativeTime at={window.seen_at} />
        </span>
      </span>
    </li>
  );
}

export function ProviderLimits({ name, limits }: { name: string; limits: AgentLimits }) {
  const { t } = useTranslation();
  const { limited_until: until, windows } = limits;
  return (
    <>
      {until !== null && (
        <p className={styles.refused}>
          <Ban aria-hidden />
          <span>
            {t("agents.limitedUntil", {
              time: new Date(until).toLocaleString(navigator.language, {
                dateStyle: "medium",
                timeStyle: "short",
              }),
            })}
          </span>
        </p>
      )}
      {windows.length > 0 && (
        <ul className={styles.windows} aria-label={t("agents.providerLimits", { name })}>
          {windows.map((window) => (
            <WindowRow key={window.name} window={window} />
          ))}
        </ul>
      )}
    </>
  );
}
