/** Settings of the sample host: the recorded ones, and what is a project's own on top. */
import type { Handlers, Output } from "./answers.ts";
import { cast, recorded } from "./recorded.ts";
import { sampleLoop } from "./sampleLoop.ts";

import { sampleRepositoryServices, sampleServices } from "./sampleServices.ts";

type Tree = Readonly<Record<string, unknown>>;

/** What is in force where a project says nothing. */
const defaults: Tree = {
  ...(recorded("project_settings_get", { project_id: cast.project }).settings as Tree),
  author: null,
  innerLoop: sampleLoop.config,
  services: sampleRepositoryServices,
};

const isTree = (value: unknown): value is Tree =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** What the engine answers of a project that says this itself; the fields of a part are replaced one by one. */
export function sampleSettings(own: Tree = {}): Output<"project_settings_get"> {
  const inForce = Object.entries(own).map(([key, value]) => {
    const base = defaults[key];
    return [key, isTree(value) && isTree(base) ? { ...base, ...value } : value];
  });
  return { settings: { ...defaults, ...Object.fromEntries(inForce) }, own };
}

/** What project p1 says itself. */
export const sampleOwn: Tree = {
  review_config: { ci_steps: ["npm test", "npm run lint"] },
  max_concurrent: 6,
  services: sampleServices,
  lifecycle_hooks: {
    before_work: [
      { type: "script", command: "npm ci", timeout_seconds: 300, blocking: true },
      { type: "plugin", name: "knowledge-inject" },
    ],
    on_task_done: [{ type: "script", command: "scripts/notify.sh done" }],
  },
};

export function settingsAnswers(): Handlers {
  return {
    settings_get: () => recorded("settings_get", {}),
    project_settings_get: ({ project_id }) => sampleSettings(project_id === "p1" ? sampleOwn : {}),
  };
}
