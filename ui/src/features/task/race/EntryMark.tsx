/** Where an entry is, in a glyph and a word: won or elected before anything else. */
import {
  CircleCheck,
  CircleSlash,
  CircleX,
  Clock,
  Crown,
  LoaderCircle,
  TimerOff,
} from "lucide-react";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import type { Race, RaceEntry, RaceEntryStatus } from "#ui/api/generated.ts";
import { Badge, type Tone } from "#ui/components/Badge.tsx";
import { isWinner } from "./race.ts";

const looks: Readonly<Record<RaceEntryStatus, { readonly tone: Tone; readonly icon: ReactNode }>> =
  {
    queued: { tone: "neutral", icon: <Clock /> },
    running: { tone: "accent", icon: <LoaderCircle /> },
    finished: { tone: "neutral", icon: <CircleCheck /> },
    failed: { tone: "danger", icon: <CircleX /> },
    timed_out: { tone: "warning", icon: <TimerOff /> },
    cancelled: { tone: "neutral", icon: <CircleSlash /> },
  };

function winnerWord(race: Race): "elected" | "picked" | "winner" {
  if (race.status === "awaiting_crown") return "elected";
  return race.crowned_by === null ? "winner" : "picked";
}

export function EntryMark({ race, entry }: { race: Race; entry: RaceEntry }) {
  const { t } = useTranslation();
  if (isWinner(race, entry)) {
    const word = winnerWord(race);
    return (
      <Badge tone={word === "elected" ? "warning" : "success"} icon={<Crown aria-hidden />}>
        {t(`race.${word}`)}
      </Badge>
    );
  }
  const { tone, icon } = looks[entry.status];
  return (
    <Badge tone={tone} icon={icon}>
      {t(`race.status.${entry.status}`)}
    </Badge>
  );
}
