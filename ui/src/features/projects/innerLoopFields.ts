/** The inner loop's settings, as tables. */
import type { Field } from "./fields.ts";

export const raceFields: readonly Field[] = [
  {
    kind: "switch",
    path: "innerLoop.competitive.enabled",
    label: "innerLoop.field.competitive",
    hint: "innerLoop.field.competitiveHint",
  },
  { kind: "part", part: "strategies" },
  {
    kind: "number",
    path: "innerLoop.competitive.maxParallel",
    label: "race.maxParallel",
    hint: "race.maxParallelHint",
  },
  {
    kind: "number",
    path: "innerLoop.competitive.timeoutSec",
    label: "race.timeout",
    hint: "race.timeoutHint",
    suffix: "race.seconds",
  },
  {
    kind: "switch",
    path: "innerLoop.reviewer.enabled",
    label: "innerLoop.field.reviewer",
    hint: "innerLoop.field.reviewerHint",
  },
  {
    kind: "switch",
    path: "innerLoop.competitive.humanCrown",
    label: "innerLoop.field.humanCrown",
    hint: "innerLoop.field.humanCrownHint",
  },
  {
    kind: "switch",
    path: "innerLoop.competitive.nameDecides",
    label: "innerLoop.field.nameDecides",
    hint: "innerLoop.field.nameDecidesHint",
  },
  {
    kind: "number",
    path: "innerLoop.competitive.keepLosersDays",
    label: "innerLoop.field.keepLosersDays",
    hint: "innerLoop.field.keepLosersDaysHint",
    suffix: "innerLoop.field.days",
  },
];

export const fixFields: readonly Field[] = [
  {
    kind: "switch",
    path: "innerLoop.autoFix.enabled",
    label: "innerLoop.field.autoFix",
    hint: "innerLoop.field.autoFixHint",
  },
  {
    kind: "switch",
    path: "innerLoop.autoFix.applyWithoutReview",
    label: "innerLoop.field.applyWithoutReview",
    hint: "innerLoop.field.applyWithoutReviewHint",
  },
  {
    kind: "number",
    path: "innerLoop.autoFix.maxChangedLines",
    label: "innerLoop.field.maxChangedLines",
  },
  { kind: "part", part: "drafter" },
];

export const anomalyFields: readonly Field[] = [
  {
    kind: "switch",
    path: "innerLoop.costAnomaly.enabled",
    label: "innerLoop.field.costAnomaly",
    hint: "innerLoop.field.costAnomalyHint",
  },
  { kind: "decimal", path: "innerLoop.costAnomaly.ratio", label: "innerLoop.field.ratio" },
  {
    kind: "number",
    path: "innerLoop.costAnomaly.medianWindow",
    label: "innerLoop.field.medianWindow",
    hint: "innerLoop.field.medianWindowHint",
  },
  {
    kind: "number",
    path: "innerLoop.costAnomaly.minSamples",
    label: "innerLoop.field.minSamples",
    hint: "innerLoop.field.minSamplesHint",
  },
];

export const reviewFields: readonly Field[] = [
  {
    kind: "switch",
    path: "innerLoop.stopOnStagnation",
    label: "innerLoop.field.stopOnStagnation",
    hint: "innerLoop.field.stopOnStagnationHint",
  },
];

const lessons = ["reflexion", "trajectory", "knowledge", "postmortem", "gateSuggestions"] as const;

export const teachFields: readonly Field[] = lessons.map((each) => ({
  kind: "switch",
  path: `innerLoop.${each}.enabled`,
  label: `innerLoop.field.${each}`,
  hint: `innerLoop.field.${each}Hint`,
}));
