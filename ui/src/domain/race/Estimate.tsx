/** What a race is likely to cost, by what its models cost so far. */
import { useTranslation } from "react-i18next";
import { useOp } from "#ui/api/client.ts";
import type { RaceEstimate } from "#ui/api/generated.ts";
import { Tooltip } from "#ui/components/Tooltip.tsx";
import { money } from "../money.ts";
import { strategiesOf, type RaceDraft } from "./strategies.ts";

const listed = (names: readonly string[]): string =>
  new Intl.ListFormat(navigator.language, { type: "conjunction" }).format(names);

function useWords({ entries, total_micro_usd: total }: RaceEstimate) {
  const { t } = useTranslation();
  const unknown = entries.filter(({ median_micro_usd: median }) => median === null);
  const each = entries
    .map(
      ({ name, median_micro_usd: median }) =>
        `${name} ${median === null ? t("race.expectedNone") : money(median)}`,
    )
    .join(" · ");
  const sum =
    total === null
      ? t("race.expectedUnknown", {
          count: unknown.length,
          names: listed(unknown.map(({ name }) => name)),
        })
      : t("race.expectedTotal", { cost: money(total) });
  return { sum, each };
}

function Said({ estimate }: { estimate: RaceEstimate }) {
  const { t } = useTranslation();
  const { sum, each } = useWords(estimate);
  return (
    <Tooltip text={each}>
      <span>
        {t("race.expected")}: {sum}
      </span>
    </Tooltip>
  );
}

const shown = (estimate: RaceEstimate | undefined) =>
  estimate && estimate.entries.length > 0 ? <Said estimate={estimate} /> : null;

/** As the task stands. */
export function Estimate({ taskId }: { taskId: string }) {
  return shown(useOp("race_estimate", { task_id: taskId }).data);
}

/** As it is typed, before anything is saved. */
export function DraftEstimate({ projectId, draft }: { projectId: string; draft: RaceDraft }) {
  const { strategies } = draft;
  const asked = strategies === null ? {} : { strategies: strategiesOf(strategies) };
  const input = { project_id: projectId, ...asked };
  return shown(useOp("project_race_estimate", input, { keepPrevious: true }).data);
}
