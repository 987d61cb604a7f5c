/** Agent profiles of the sample host. */
import type { Agent, AgentCheck, AgentLimits, LimitWindow } from "#ui/api/generated.ts";
import { pageOf, type Handlers } from "./answers.ts";
import { sampleAgent } from "./sample.ts";

const profiles: readonly Agent[] = [
  sampleAgent({ running: 1 }),
  sampleAgent({
    id: "a2",
    name: "Claude",
    max_concurrent: 3,
    running: 2,
    model: "opus",
    config: { command: "claude", args: ["-p", "{prompt_file}"], env: { CI: "1" } },
  }),
  sampleAgent({
    id: "a3",
    name: "Night shift",
    paused: true,
    config: { command: "night-shift {prompt_file}" },
  }),
];

const codex = sampleAgent({
  id: "a4",
  name: "Codex",
  adapter: "codex",
  config: { permissions: "ask", effort: "high", cost_micro_usd: 2_000_000 },
  model: "gpt-5.1-codex",
  running: 1,
  max_concurrent: 2,
});

const missing: AgentCheck = {
  found: false,
  program: null,
  version: null,
  signed_in: null,
  problem: "night-shift is not on the PATH",
  remedy: "Install it, or give its whole path in the profile.",
};
const present: AgentCheck = {
  found: true,
  program: "/usr/local/bin/codex",
  version: null,
  signed_in: true,
  problem: null,
  remedy: null,
};

export function sampleProfiles(sample: string | null = null): Agent[] {
  if (sample === "empty") return [];
  return sample === "agents" ? [...profiles, codex] : [...profiles];
}

const ahead = (minutes: number) => new Date(Date.now() + minutes * 60_000).toISOString();

export function sampleWindow(change: Partial<LimitWindow> = {}): LimitWindow {
  return {
    name: "five_hour",
    minutes: 300,
    used_percent: 41,
    resets_at: ahead(150),
    seen_at: ahead(-4),
    ...change,
  };
}

/** Claude nears one of its limits, Codex was refused; the programs of the others report none. */
function sampleLimits(sample: string | null): AgentLimits[] {
  const reported: Readonly<Record<string, Partial<AgentLimits>>> = {
    a2: {
      windows: [
        sampleWindow(),
        sampleWindow({
          name: "seven_day",
          minutes: 10_080,
          used_percent: 93,
          resets_at: ahead(4_400),
        }),
        sampleWindow({ name: "seven_day_opus", minutes: null, used_percent: 12, resets_at: null }),
      ],
    },
    a4: {
      limited_until: ahead(42),
      windows: [
        sampleWindow({ name: "primary", used_percent: 100, resets_at: ahead(42) }),
        sampleWindow({
          name: "secondary",
          minutes: 10_080,
          used_percent: 57,
          resets_at: ahead(7_300),
          seen_at: ahead(-130),
        }),
      ],
    },
  };
  return sampleProfiles(sample).map(({ id }) => ({
    agent_id: id,
    limited_until: null,
    windows: [],
    ...(sample === "agents" ? reported[id] : {}),
  }));
}

export function profileAnswers(sample: string | null): Handlers {
  const agents = sampleProfiles(sample);
  return {
    agent_list: () => pageOf(agents),
    agent_limits: () => pageOf(sampleLimits(sample)),
    agent_check: ({ agent_id }) => (agent_id === "a3" ? missing : present),
  };
}
