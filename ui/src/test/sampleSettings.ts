/** Projects' settings of the sample host: defaults, and what is a project's own on top. */
import type { Finding } from "#ui/api/generated.ts";
import { cast, recorded } from "./recorded.ts";
import { loopOf } from "./sampleLoop.ts";

interface Settings {
  refuse(code: string, message: string, details?: unknown): never;
  changed(...tags: string[]): void;
  checkHooks(hooks: unknown): readonly Finding[];
}

const isTree = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** A merge patch: null takes a key away. */
function merged(before: unknown, patch: Record<string, unknown>): Record<string, unknown> {
  const after: Record<string, unknown> = { ...(isTree(before) ? before : {}) };
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete after[key];
    else after[key] = isTree(value) ? merged(after[key], value) : value;
  }
  return after;
}

/** What is in force where a project says nothing. */
const defaults = {
  ...(recorded("project_settings_get", { project_id: cast.project }).settings as object),
  author: null,
};

export function createSampleSettings({ refuse, changed, checkHooks }: Settings) {
  const own: Record<string, Record<string, unknown>> = {
    p1: {
      review_config: { ci_steps: ["npm test", "npm run lint"] },
      max_concurrent: 6,
      lifecycle_hooks: {
        before_work: [
          { type: "script", command: "npm ci", timeout_seconds: 300, blocking: true },
          { type: "plugin", name: "knowledge-inject" },
        ],
        on_task_done: [{ type: "script", command: "scripts/notify.sh done" }],
      },
    },
  };

  const settings = (id: string) => {
    const mine = own[id] ?? {};
    const merged: Record<string, unknown> = { ...defaults };
    for (const [key, value] of Object.entries(mine)) {
      const base = merged[key];
      merged[key] =
        typeof value === "object" && value && !Array.isArray(value)
          ? { ...(base as object), ...value }
          : value;
    }
    merged["innerLoop"] = loopOf(mine["innerLoop"]);
    return { settings: merged, own: mine };
  };

  const answers = {
    project_settings_get: ({ project_id }: { project_id: string }) => settings(project_id),
    project_settings_update: ({ project_id, ...patch }: { project_id: string }) => {
      const mine: Record<string, unknown> = { ...own[project_id] };
      for (const [key, value] of Object.entries(patch as Record<string, unknown>)) {
        if (value === null) delete mine[key];
        else if (typeof value === "object" && !Array.isArray(value))
          mine[key] = merged(mine[key], value as Record<string, unknown>);
        else mine[key] = value;
      }
      const concurrent = mine["max_concurrent"];
      if (typeof concurrent === "number" && concurrent < 1) {
        refuse("invalid", "failed to change the settings: max_concurrent: must be at least 1", {
          findings: [{ path: "max_concurrent", message: "must be at least 1" }],
        });
      }
      const findings = checkHooks(mine["lifecycle_hooks"]);
      if (findings.length > 0) {
        refuse("invalid", "failed to change the settings: the input is not valid", { findings });
      }
      const races = (mine["innerLoop"] as { competitive?: { strategies?: { name: string }[] } })
        ?.competitive?.strategies;
      const twice = races?.findIndex(
        ({ name }, index) => races.findIndex((other) => other.name === name) < index,
      );
      if (twice !== undefined && twice >= 0) {
        refuse("invalid", "failed to change the settings: the input is not valid", {
          findings: [
            {
              path: `innerLoop.competitive.strategies[${twice}].name`,
              message: `\`${races?.[twice]?.name}\` is used twice`,
            },
          ],
        });
      }
      own[project_id] = mine;
      changed("projects");
      return settings(project_id);
    },
  };
  return { answers, ownOf: (id: string) => own[id] ?? {} };
}
