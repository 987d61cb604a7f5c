/** How the score went: a line for each attempt before the latest. */
import { useTranslation } from "react-i18next";
import type { Attempt } from "#ui/api/generated.ts";
import { RelativeTime } from "#ui/components/RelativeTime.tsx";
import { MeasureBadges } from "./MeasureBadges.tsx";
import parts from "../TabParts.module.css";
import layout from "#ui/components/layout.module.css";
import styles from "./Validate.module.css";

const percent = (score: number): string =>
  new Intl.NumberFormat(navigator.language, { style: "percent" }).format(score);

function Line({ attempt }: { attempt: Attempt }) {
  const { t } = useTranslation();
  const { score, passed, failures } = attempt;
  return (
    <li className={styles.earlierLine}>
      <span className={layout.soft}>{t("validate.attempt", { count: attempt.attempt })}</span>
      <span className={styles.bar} data-passed={passed || undefined} aria-hidden>
        <span style={{ width: percent(score) }} />
      </span>
      <span className={styles.score}>{percent(score)}</span>
      <span className={styles.marks}>
        {!passed && <span>{t("validate.failures", { count: failures.length })}</span>}
        <MeasureBadges measures={attempt} />
      </span>
      <RelativeTime at={attempt.at} />
    </li>
  );
}

export function Attempts({ attempts }: { attempts: readonly Attempt[] }) {
  const { t } = useTranslation();
  if (attempts.length === 0) return null;
  return (
    <section className={parts.earlier} aria-labelledby="validate-earlier">
      <h3 id="validate-earlier">{t("validate.earlier")}</h3>
      <ol className={parts.lines}>
        {attempts.map((attempt) => (
          <Line key={attempt.id} attempt={attempt} />
        ))}
      </ol>
    </section>
  );
}
