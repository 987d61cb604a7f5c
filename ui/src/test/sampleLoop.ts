/** The inner loop of a project. */
import type { InnerLoopState, SubsystemStatus, ValueSource } from "#ui/api/generated.ts";
import { cast, recorded } from "./recorded.ts";
import { at } from "./sampleTasks.ts";

const isTree = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** What later layers say wins; lists are replaced as wholes. */
function layered(...layers: readonly unknown[]): unknown {
  return layers.reduce((below, above) => {
    if (!isTree(below) || !isTree(above)) return above === undefined ? below : above;
    const keys = new Set([...Object.keys(below), ...Object.keys(above)]);
    return Object.fromEntries([...keys].map((key) => [key, layered(below[key], above[key])]));
  });
}

/** What is in force where neither the project nor its repository says anything. */
export const defaultLoop = recorded("project_inner_loop", {
  project_id: cast.other_project,
}).config;

/** What `.forge.json` of the sample's default branch says. */
export const repositoryLoop = {
  competitive: { enabled: true, maxParallel: 3 },
  costAnomaly: { ratio: 1.5 },
};

/** What is in force. */
export const loopOf = (own: unknown, file: unknown = repositoryLoop): unknown =>
  layered(defaultLoop, file, isTree(own) ? own : {});

function sourcesOf(own: unknown, file: unknown): Record<string, ValueSource> {
  const at = (tree: unknown, path: readonly string[]) =>
    path.reduce<unknown>((node, key) => (isTree(node) ? node[key] : undefined), tree);
  const walk = (value: unknown, path: readonly string[]): [string, ValueSource][] => {
    if (isTree(value))
      return Object.entries(value).flatMap(([key, of]) => walk(of, [...path, key]));
    const source =
      at(own, path) !== undefined
        ? "project"
        : at(file, path) !== undefined
          ? "repository"
          : "default";
    return [[path.join("."), source]];
  };
  return Object.fromEntries(walk(defaultLoop, []));
}

export interface LoopHooks {
  /** What the project says under `innerLoop`. */
  ownOf(project: string): unknown;
}

const part = (
  name: SubsystemStatus["name"],
  setting: string,
  change: Partial<SubsystemStatus> = {},
): SubsystemStatus => ({
  name,
  setting,
  enabled: false,
  source: "default",
  recorded: false,
  last: null,
  open: 0,
  ...change,
});

/** The inner loop of a project, as its settings and its tasks have it. */
export function createSampleLoop({ ownOf }: LoopHooks) {
  const state = (project: string): InnerLoopState => ({
    config: loopOf(ownOf(project)) as InnerLoopState["config"],
    sources: sourcesOf(ownOf(project), repositoryLoop),
    repository: {
      commit: "5f0e1d2c3b4a59687786958493a2b1c0d9e8f7a6",
      looked_at: "77aa1d2c3b4a59687786958493a2b1c0d9e8f7a6",
      findings: [
        { path: "innerLoop.costAnomaly.ratoi", message: "is not known; did you mean `ratio`?" },
      ],
      inner_loop: repositoryLoop,
    },
  });
  const about = (number: number, title: string) => ({ id: `t${number}`, number, title });
  const parts: readonly SubsystemStatus[] = [
    part("reviewer", "reviewer.enabled", {
      recorded: true,
      last: {
        at: at(38),
        task: about(2, "Read the configuration once"),
        effect: "broad 90, narrow 60",
      },
    }),
    part("competitive", "competitive.enabled", {
      recorded: true,
      open: 2,
      last: {
        at: at(9),
        task: about(4, "Cache the parsed configuration"),
        effect: "cheap won against 2",
      },
    }),
    part("auto_fix", "autoFix.enabled", {
      recorded: true,
      open: 1,
      last: {
        at: at(66),
        task: about(1, "Keep the limiter’s clock"),
        effect: "drafted: a patch of src/limiter.rs",
      },
    }),
    part("cost_anomaly", "costAnomaly.enabled", { recorded: true }),
    part("validate", "stopOnStagnation"),
    part("reflexion", "reflexion.enabled", {
      recorded: true,
      last: {
        at: at(14),
        task: about(4, "Cache the parsed configuration"),
        effect:
          "run 2 began with: Review attempt 1 of 3 failed: `cargo test --workspace` exited with 101",
      },
    }),
    part("trajectory", "trajectory.enabled", {
      recorded: true,
      last: {
        at: at(8),
        task: about(4, "Cache the parsed configuration"),
        effect: "a note of 41 words",
      },
    }),
    part("knowledge", "knowledge.enabled", {
      recorded: true,
      open: 3,
      last: {
        at: at(1_700),
        task: about(3, "Drop the last callers of the old client"),
        effect: "proposed: The limiter counts per process",
      },
    }),
    part("postmortem", "postmortem.enabled", {
      recorded: true,
      last: {
        at: at(8),
        task: about(4, "Cache the parsed configuration"),
        effect: "2 attempts, first failed: cargo test --workspace",
      },
    }),
    part("gate_suggestions", "gateSuggestions.enabled", { recorded: true }),
  ];
  return {
    project_inner_loop: ({ project_id }: { project_id: string }) => state(project_id),
    inner_loop_status: ({ project_id }: { project_id: string }) => {
      const { config, sources } = state(project_id);
      const valueAt = (path: string) =>
        path.split(".").reduce<unknown>((node, key) => (isTree(node) ? node[key] : node), config);
      return {
        items: parts.map((each) => ({
          ...each,
          enabled: valueAt(each.setting) === true,
          source: sources[each.setting] ?? ("default" as const),
        })),
        next_cursor: null,
      };
    },
  };
}
