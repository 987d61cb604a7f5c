/** A race in the few words that a card has room for. Pure; the words are an argument. */
import type { TFunction } from "i18next";
import type { RaceBadge } from "#ui/api/generated.ts";

export function raceWords(badge: RaceBadge, t: TFunction): string {
  const { status, entries, over, winner } = badge;
  switch (status) {
    case "running":
      return t("race.badge.running", { over, count: entries });
    case "awaiting_crown":
      return winner === null
        ? t("race.badge.awaiting_choice")
        : t("race.badge.awaiting_crown", { name: winner });
    case "decided":
    case "promoted":
      return t("race.badge.won", { name: winner });
    case "no_winner":
      return t("race.badge.no_winner", { count: entries });
    case "cancelled":
      return t("race.badge.cancelled");
  }
}
