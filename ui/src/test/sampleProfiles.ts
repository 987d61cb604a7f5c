/** Agent profiles of the sample host. */
import type { Agent, CreateAgent, Task } from "#ui/api/generated.ts";
import { sampleAgent } from "./sample.ts";
import { sampleConfigFinding } from "./samplePrograms.ts";

interface Profiles {
  readonly sample: string | null;
  readonly tasks: readonly Task[];
  refuse(code: string, message: string, details?: unknown, hints?: string[]): never;
  changed(...tags: string[]): void;
}

const page = <Item>(items: readonly Item[]) => ({ items: [...items], next_cursor: null });

export function createSampleProfiles({ sample, tasks, refuse, changed }: Profiles) {
  const agents: Agent[] =
    sample === "empty"
      ? []
      : [
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
          ...(sample === "agents"
            ? [
                sampleAgent({
                  id: "a4",
                  name: "Codex",
                  adapter: "codex",
                  config: { permissions: "ask", effort: "high", cost_micro_usd: 2_000_000 },
                  model: "gpt-5.1-codex",
                  running: 1,
                  max_concurrent: 2,
                }),
              ]
            : []),
        ];
  const agent = (id: string) =>
    agents.find((each) => each.id === id) ?? refuse("not_found", `no agent ${id}`);
  const editAgent = (id: string, change: Partial<Agent>): Agent => {
    const index = agents.findIndex((each) => each.id === id);
    const after = { ...agent(id), ...change };
    agents[index] = after;
    changed("agents");
    return after;
  };
  const answers = {
    agent_list: () => page(agents),
    agent_check: ({ agent_id }: { agent_id: string }) =>
      agent(agent_id).name === "Night shift"
        ? {
            found: false,
            program: null,
            version: null,
            signed_in: null,
            problem: "night-shift is not on the PATH",
            remedy: "Install it, or give its whole path in the profile.",
          }
        : {
            found: true,
            program: "/usr/local/bin/codex",
            version: null,
            signed_in: true,
            problem: null,
            remedy: null,
          },
    agent_create: (input: CreateAgent) => {
      const wrong = sampleConfigFinding(input);
      if (wrong) refuse("invalid", "failed to add the agent", { findings: [wrong] });
      if (agents.some(({ name }) => name === input.name))
        refuse("name_taken", `failed to add the agent: one is called ${input.name} already`);
      const added = sampleAgent({
        id: `a${agents.length + 1}`,
        name: input.name,
        adapter: input.adapter,
        config: input.config,
        model: input.model ?? null,
        max_concurrent: input.max_concurrent ?? 1,
      });
      agents.push(added);
      changed("agents");
      return added;
    },
    agent_update: ({ agent_id, ...change }: { agent_id: string }) => editAgent(agent_id, change),
    agent_pause: ({ agent_id }: { agent_id: string }) => editAgent(agent_id, { paused: true }),
    agent_resume: ({ agent_id }: { agent_id: string }) => editAgent(agent_id, { paused: false }),
    agent_delete: ({ agent_id }: { agent_id: string }) => {
      if (tasks.some(({ roles }) => roles["coder"]?.id === agent_id)) {
        refuse("in_use", "failed to remove the agent: tasks name it", null, [
          "Give its tasks to another agent first.",
        ]);
      }
      agents.splice(agents.indexOf(agent(agent_id)), 1);
      changed("agents");
      return { done: true };
    },
  };
  const profilesOf = (adapter: string) =>
    agents.filter((each) => each.adapter === adapter).map(({ name }) => name);
  return { answers, profilesOf };
}
