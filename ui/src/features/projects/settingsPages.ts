/** The pages of a project's settings, and which of them a setting is on. Pure. */
import { isWithin } from "#ui/draft/path.ts";
import {
  automationFields,
  checkFields,
  costFields,
  environmentFields,
  issueReportFields,
  mergeFields,
  noticeFields,
  sandboxFields,
  setupFields,
  validateFields,
  worktreeFields,
  type Field,
} from "./fields.ts";

export const groups = [
  {
    name: "project",
    tabs: ["general", "setup", "services", "costs", "knowledge", "notifications"],
  },
  { name: "process", tabs: ["workflow", "hooks", "automation", "innerLoop"] },
  { name: "delivery", tabs: ["checks", "merge", "pullRequests", "issues"] },
] as const;

export type PageId = (typeof groups)[number]["tabs"][number];
export const pages: readonly PageId[] = groups.flatMap((group) => [...group.tabs]);

function pathsIn(...tables: readonly (readonly Field[])[]): readonly string[] {
  return tables.flat().flatMap((field) => (field.kind === "part" ? [] : [field.path]));
}

const placesOf: readonly (readonly [PageId, readonly string[]])[] = [
  ["general", ["project.name", "project.default_branch"]],
  ["pullRequests", ["project.work_mode", "code_host"]],
  ["issues", ["issues.rule", "issues.reports.labels", ...pathsIn(issueReportFields)]],
  ["checks", ["review_config", ...pathsIn(checkFields, validateFields)]],
  ["merge", pathsIn(mergeFields(""))],
  ["costs", ["model_prices", ...pathsIn(costFields)]],
  ["innerLoop", ["innerLoop"]],
  ["notifications", pathsIn(noticeFields)],
  ["automation", pathsIn(automationFields(false))],
  [
    "setup",
    [
      "copy_files",
      "machines",
      ...pathsIn(setupFields, sandboxFields, environmentFields, worktreeFields),
    ],
  ],
];

/** The page of a path in the draft; undefined for a path that no page shows. */
export const pageOf = (path: string): PageId | undefined =>
  placesOf.find(([, places]) => places.some((place) => isWithin(path, place)))?.[0];
