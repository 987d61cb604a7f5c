/** Agent profiles of the sample host. */
import type { Agent, AgentCheck } from "#ui/api/generated.ts";
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

export function profileAnswers(sample: string | null): Handlers {
  const agents = sampleProfiles(sample);
  return {
    agent_list: () => pageOf(agents),
    agent_check: ({ agent_id }) => (agent_id === "a3" ? missing : present),
  };
}
