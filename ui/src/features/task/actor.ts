/** Who made a move or decided a review, in words. Pure. */
import type { TFunction } from "i18next";
import { words } from "./timeline/steps.ts";

const interfaces = ["board", "api", "cli", "mcp"] as const;
const causes = ["scheduler", "workflow", "review", "merge", "recovery", "cleanup", "host"] as const;

const among = <Name extends string>(names: readonly Name[], name: string): Name | undefined =>
  names.find((known) => known === name);

/** An actor's text form (`user:board`, `agent:<id>`, `system:<cause>`) as people say it. */
export function actorText(
  actor: string,
  agents: ReadonlyMap<string, string>,
  t: TFunction,
): string {
  const split = actor.indexOf(":");
  const kind = split < 0 ? actor : actor.slice(0, split);
  const rest = split < 0 ? "" : actor.slice(split + 1);
  switch (kind) {
    case "agent":
      return agents.get(rest) ?? t("task.actor.agentGone");
    case "user": {
      const via = among(interfaces, rest);
      return via ? t(`task.actor.user.${via}`) : t("task.actor.you");
    }
    case "system": {
      const cause = among(causes, rest);
      return cause ? t(`task.actor.system.${cause}`) : t("task.actor.forge");
    }
    default:
      return words(actor);
  }
}
