/** The inner loop of a project whose repository sets some of it; each part had an effect. */
import type { InnerLoopState, SubsystemStatus } from "#ui/api/generated.ts";
import { pageOf, type Handlers } from "./answers.ts";
import { cast, recorded } from "./recorded.ts";
import { sampleRepositoryServices } from "./sampleServices.ts";
import { at } from "./sampleTasks.ts";

/** Of a project where neither it nor its repository says anything. */
const quiet = recorded("project_inner_loop", { project_id: cast.other_project });
const { config } = quiet;

/** `.forge.json` of the default branch turns races on, three at a time, and lowers a threshold. */
export const sampleLoop: InnerLoopState = {
  config: {
    ...config,
    competitive: { ...config.competitive, enabled: true, maxParallel: 3 },
    costAnomaly: { ...config.costAnomaly, ratio: 1.5 },
  },
  sources: {
    ...quiet.sources,
    "competitive.enabled": "repository",
    "competitive.maxParallel": "repository",
    "costAnomaly.ratio": "repository",
  },
  repository: {
    commit: "5f0e1d2c3b4a59687786958493a2b1c0d9e8f7a6",
    looked_at: "77aa1d2c3b4a59687786958493a2b1c0d9e8f7a6",
    findings: [
      { path: "innerLoop.costAnomaly.ratoi", message: "is not known; did you mean `ratio`?" },
    ],
    inner_loop: {
      competitive: { enabled: true, maxParallel: 3 },
      costAnomaly: { ratio: 1.5 },
    },
    services: [...sampleRepositoryServices],
  },
};

/** The same where the project itself turns races off. */
export const sampleLoopWithoutRaces: InnerLoopState = {
  ...sampleLoop,
  config: {
    ...sampleLoop.config,
    competitive: { ...sampleLoop.config.competitive, enabled: false },
  },
  sources: { ...sampleLoop.sources, "competitive.enabled": "project" },
};

const last = (minutesAgo: number, number: number, title: string, effect: string) => ({
  last: { at: at(minutesAgo), task: { id: `t${number}`, number, title }, effect },
});

const changes: Readonly<Partial<Record<SubsystemStatus["name"], Partial<SubsystemStatus>>>> = {
  reviewer: last(38, 2, "Read the configuration once", "broad 90, narrow 60"),
  competitive: {
    enabled: true,
    source: "repository",
    open: 2,
    ...last(9, 4, "Cache the parsed configuration", "cheap won against 2"),
  },
  auto_fix: {
    open: 1,
    ...last(66, 1, "Keep the limiter’s clock", "drafted: a patch of src/limiter.rs"),
  },
  validate: { recorded: false },
  reflexion: last(
    14,
    4,
    "Cache the parsed configuration",
    "run 2 began with: Review attempt 1 of 3 failed: `cargo test --workspace` exited with 101",
  ),
  trajectory: last(8, 4, "Cache the parsed configuration", "a note of 41 words"),
  knowledge: {
    open: 3,
    ...last(
      1_700,
      3,
      "Drop the last callers of the old client",
      "proposed: The limiter counts per process",
    ),
  },
  postmortem: last(
    8,
    4,
    "Cache the parsed configuration",
    "2 attempts, first failed: cargo test --workspace",
  ),
};

const parts = recorded("inner_loop_status", { project_id: cast.other_project }).items.map(
  (part) => ({ ...part, ...changes[part.name] }),
);

export function loopAnswers(): Handlers {
  return { project_inner_loop: () => sampleLoop, inner_loop_status: () => pageOf(parts) };
}
