import { expect, it } from "vitest";
import { pageOf } from "./settingsPages.ts";

it.each([
  ["project.name", "general"],
  ["project.work_mode", "pullRequests"],
  ["code_host.owner", "pullRequests"],
  ["issues.rule.labels[0]", "issues"],
  ["issues.reports.close_done", "issues"],
  ["issues.reports.labels.in_progress", "issues"],
  ["review_config.validate.contractChecks", "checks"],
  ["model_prices.local.output", "costs"],
  ["copy_files[2].to", "setup"],
  ["sandbox.ports", "setup"],
  ["max_concurrent", "automation"],
  ["unknown", undefined],
])("finds the page of %s", (path, page) => {
  expect(pageOf(path)).toBe(page);
});
