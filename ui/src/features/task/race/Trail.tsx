/** How a race was decided, a line a rule, and what a person made of it. */
import { useTranslation } from "react-i18next";
import type { Race } from "#ui/api/generated.ts";
import { actorText } from "../actor.ts";
import { useAgentNames } from "../useAgentNames.ts";
import { trailOf } from "./race.ts";
import { Stack } from "#ui/components/Stack.tsx";
import layout from "#ui/components/layout.module.css";
import styles from "./Race.module.css";

const date = (at: string): string =>
  new Intl.DateTimeFormat(navigator.language, { dateStyle: "medium", timeStyle: "short" }).format(
    Date.parse(at),
  );

function pickedWords(race: Race, who: string) {
  const { elected } = race;
  return elected !== null && elected !== race.winner
    ? { key: "race.pickedOver" as const, who, name: race.winner, elected }
    : { key: "race.pickedBy" as const, who, name: race.winner, elected };
}

export function Trail({ race }: { race: Race }) {
  const { t } = useTranslation();
  const agents = useAgentNames();
  const lines = trailOf(race, t);
  const picked =
    race.crowned_by === null ? null : pickedWords(race, actorText(race.crowned_by, agents, t));
  if (lines.length === 0 && picked === null) return null;
  return (
    <Stack as="section" gap={3} aria-labelledby={`trail-${race.id}`}>
      <h3 id={`trail-${race.id}`} className={styles.heading}>
        {t("race.trail")}
      </h3>
      <ol className={styles.rules}>
        {lines.map((line) => (
          <li key={line.rule} data-decides={race.decidedBy === line.rule || undefined}>
            <span className={layout.faint}>{t(`race.rule.${line.rule}`)}</span>{" "}
            <span>{line.sentences.join(" ")}</span>
          </li>
        ))}
        {picked && (
          <li data-decides>
            <span className={layout.faint}>{t("race.pick")}</span>{" "}
            <span>{t(picked.key, { ...picked })}</span>
          </li>
        )}
      </ol>
      {race.losers_until && (
        <p className={layout.note}>{t("race.kept", { date: date(race.losers_until) })}</p>
      )}
    </Stack>
  );
}
