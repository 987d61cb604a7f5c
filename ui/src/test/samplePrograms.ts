/** Agent programs of this machine, as the sample host finds, asks and tries them. They are not recorded: each machine has others. */
import { pageOf, type Handlers } from "./answers.ts";
import { sampleKnown } from "./sampleRuns.ts";

export function programAnswers(sample: string | null): Handlers {
  const known = () =>
    [
      sampleKnown({ profiles: sample === "agents" ? ["Codex"] : [] }),
      sampleKnown({
        name: "Claude Code",
        adapter: "claude",
        check: {
          found: true,
          program: "/home/me/.local/bin/claude",
          version: "2.0.41",
          signed_in: null,
          problem: null,
          remedy: null,
        },
      }),
      sampleKnown({
        name: "OpenCode",
        adapter: "acp",
        config: { program: "opencode", args: ["acp"] },
        check: {
          found: true,
          program: "/usr/bin/opencode",
          version: "1.0.80",
          signed_in: false,
          problem: null,
          remedy: "Sign in with `opencode auth login`.",
        },
      }),
      sampleKnown({
        name: "Gemini CLI",
        adapter: "acp",
        config: { program: "gemini", args: ["--experimental-acp"] },
        check: {
          found: false,
          program: null,
          version: null,
          signed_in: null,
          problem: "gemini is not on the PATH of your login shell",
          remedy: "Install it with `npm install -g @google/gemini-cli`, then look again.",
        },
      }),
    ] as const;
  return {
    agent_known: () => pageOf(sample === "empty" ? known().slice(3) : known()),
    agent_probe: ({ adapter, config }) => {
      const { program } = (config ?? {}) as { program?: string };
      if (program === "nowhere") {
        return {
          found: false,
          program: null,
          version: null,
          signed_in: null,
          problem: "nowhere is not on the PATH of your login shell",
          remedy: "Install it, or give its whole path.",
        };
      }
      return {
        found: true,
        program: program ?? `/usr/local/bin/${adapter}`,
        version: "0.63.0",
        signed_in: true,
        problem: null,
        remedy: null,
      };
    },
    agent_models: ({ adapter }) =>
      adapter === "acp"
        ? {
            models: [],
            problem: "the program does not tell its models before it is signed in",
            remedy: "Sign in, then ask again.",
          }
        : {
            models: [
              {
                id: "gpt-5.1-codex",
                name: "GPT-5.1 Codex",
                efforts: ["low", "medium", "high"],
                is_default: true,
              },
              {
                id: "gpt-5.1-codex-mini",
                name: "GPT-5.1 Codex mini",
                efforts: ["medium"],
                is_default: false,
              },
            ],
            problem: null,
            remedy: null,
          },
    agent_try: ({ agent_id }) =>
      agent_id === "a3"
        ? {
            ok: false,
            text: "",
            problem: "night-shift is not on the PATH",
            remedy: "Install it, or give its whole path in the profile.",
            duration_ms: null,
            cost_micro_usd: null,
          }
        : {
            ok: true,
            text: "Ready.",
            problem: null,
            remedy: null,
            duration_ms: 2_340,
            cost_micro_usd: 1_900,
          },
  };
}
