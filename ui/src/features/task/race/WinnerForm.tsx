/** Asks which entry wins, where the engine offers that choice. The suggested winner is selected at first. */
import { useState, type KeyboardEvent } from "react";
import { useTranslation } from "react-i18next";
import { useOp } from "#ui/api/client.ts";
import type { Offer, Race, RaceEntry } from "#ui/api/generated.ts";
import { Button } from "#ui/components/Button.tsx";
import { ErrorState } from "#ui/components/ErrorState.tsx";
import { Select } from "#ui/components/Select.tsx";
import { SkeletonText } from "#ui/components/Skeleton.tsx";
import { money } from "../numbers.ts";
import type { Action } from "../useAction.ts";
import { isTakeable, isWinner } from "./race.ts";
import { Row } from "#ui/components/Row.tsx";
import { Stack } from "#ui/components/Stack.tsx";
import layout from "#ui/components/layout.module.css";

export interface WinnerFormProps {
  readonly taskId: string;
  readonly offer: Offer;
  readonly action: Action;
  /** Answers whether it was done. */
  readonly onTake: (offer: Offer, entry: string) => Promise<boolean>;
  readonly onClose: () => void;
}

function useNote(race: Race) {
  const { t } = useTranslation();
  return ({ strategy, gate, cost_micro_usd: cost, score }: RaceEntry): string =>
    [
      race.elected === strategy ? t("race.elected") : null,
      `${t("race.fact.gate")}: ${t(`race.gate.${gate}`)}`,
      score === null ? null : t("race.scoreOf", { score: Math.round(score) }),
      cost === null ? null : money(cost),
    ]
      .filter((part) => part !== null)
      .join(" · ");
}

function Choice({ race, offer, action, onTake, onClose }: WinnerFormProps & { race: Race }) {
  const { t } = useTranslation();
  const noteOf = useNote(race);
  const entries = race.entries.filter((entry) => isTakeable(race, entry));
  const first = entries.find((entry) => isWinner(race, entry)) ?? entries[0];
  const [chosen, setChosen] = useState<string | null>(null);
  const name = chosen ?? first?.strategy;
  const take = async () => {
    if (name !== undefined && !action.busy && (await onTake(offer, name))) onClose();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== "Escape" || event.defaultPrevented) return;
    event.stopPropagation();
    onClose();
  };
  return (
    <Stack
      as="form"
      gap={3}
      aria-label={offer.label}
      onSubmit={(event) => {
        event.preventDefault();
        void take();
      }}
    >
      {name === undefined ? (
        <p className={layout.faint}>{t("race.nothingToTake")}</p>
      ) : (
        <Select
          label={t("race.choose")}
          hint={t("race.chooseHint")}
          value={name}
          options={entries.map((entry) => ({
            value: entry.strategy,
            label: entry.strategy,
            note: noteOf(entry),
          }))}
          onChange={setChosen}
        />
      )}
      {/* The keys work on both of them; the list has its own. */}
      {/* oxlint-disable-next-line jsx-a11y/no-static-element-interactions */}
      <Row wrap gap={2} onKeyDown={onKeyDown}>
        {name !== undefined && (
          <Button
            size="sm"
            variant="primary"
            type="submit"
            // It was opened by asking for it; the next press is the deed.
            autoFocus
            busy={action.busy !== null}
          >
            {t("race.pickOf", { name })}
          </Button>
        )}
        <Button size="sm" variant="ghost" onClick={onClose}>
          {t("action.cancel")}
        </Button>
      </Row>
    </Stack>
  );
}

export function WinnerForm(props: WinnerFormProps) {
  const { t } = useTranslation();
  const races = useOp("task_races", { task_id: props.taskId });
  if (races.error) {
    return (
      <ErrorState
        title={t("race.failed")}
        error={races.error}
        onRetry={() => void races.refetch()}
      />
    );
  }
  const race = races.data?.items.at(-1);
  return race ? <Choice {...props} race={race} /> : <SkeletonText lines={2} />;
}
