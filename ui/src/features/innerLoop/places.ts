/** Where the parts of the inner loop are looked at. Pure. */
import type { Subsystem } from "#ui/api/generated.ts";
import { formatRoute } from "#ui/app/router.ts";

interface Place {
  /** Of the task that its last effect is about: the tab that shows it. */
  readonly tab: Readonly<Record<string, string>>;
  /** Where its open things are; none where they have no list of their own. */
  readonly open: (project: string) => string | null;
}

const nowhere = () => null;

export function placeOf(name: Subsystem): Place {
  switch (name) {
    case "competitive":
    case "reviewer":
      return { tab: { tab: "race" }, open: (project) => formatRoute("board", { project }) };
    case "knowledge":
      return {
        tab: {},
        open: (project) => formatRoute("projectSettings", { project }, { tab: "knowledge" }),
      };
    case "validate":
      return { tab: { tab: "review" }, open: nowhere };
    case "auto_fix":
      return { tab: { tab: "fixes" }, open: (project) => formatRoute("board", { project }) };
    case "trajectory":
    case "postmortem":
      return { tab: { tab: "debrief" }, open: nowhere };
    case "gate_suggestions":
      return {
        tab: {},
        open: (project) => formatRoute("projectSettings", { project }, { tab: "checks" }),
      };
    case "cost_anomaly":
    case "reflexion":
      return { tab: {}, open: nowhere };
  }
}
