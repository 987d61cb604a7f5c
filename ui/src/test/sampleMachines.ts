/** Machines of the sample host: one of each contact, hosts of an SSH configuration, a test that passes and one that fails. */
import type { Machine, MachineTest, SshHost } from "#ui/api/generated.ts";
import { pageOf, refuse, type Handlers } from "./answers.ts";
import { at } from "./sampleTasks.ts";

export function sampleMachine(change: Partial<Machine> = {}): Machine {
  return {
    id: "m1",
    name: "gpu-box",
    kind: "ssh",
    ssh: { host: "gpu.example", user: "me", port: 2222, identity_file: null, options: [] },
    root: "~/.forge",
    labels: [],
    caps: { runs: null },
    quota: { runs_per_day: null, micro_usd_per_day: null },
    draining: false,
    created_at: at(9_000),
    updated_at: at(9_000),
    contact: "unknown",
    contact_since: null,
    contact_error: null,
    runs: 0,
    tasks: 0,
    ...change,
  };
}

export function sampleMachines(sample: string | null = null): Machine[] {
  if (sample === "empty") return [];
  const busy = sample === "machines";
  return [
    sampleMachine({
      labels: ["gpu", "big"],
      caps: { runs: busy ? 2 : 4 },
      ...(busy ? { runs: 2, tasks: 2 } : {}),
      contact: "live",
      contact_since: at(90),
    }),
    sampleMachine({
      id: "m2",
      name: "attic",
      ssh: {
        host: "attic",
        user: null,
        port: null,
        identity_file: "~/.ssh/attic",
        options: ["ProxyJump=gate", "Compression=yes"],
      },
      root: "/srv/forge",
      labels: ["arm"],
      ...(busy ? { tasks: 1 } : {}),
      contact: "unreachable",
      contact_since: at(2_000),
      contact_error: {
        message: "attic did not answer within 15 s",
        remedy: "Make sure that the machine is on, then try `ssh attic`.",
      },
    }),
    sampleMachine({
      id: "m3",
      name: "build-farm",
      ssh: { host: "build.example", user: "ci", port: null, identity_file: null, options: [] },
      ...(busy ? { draining: true, tasks: 1 } : {}),
    }),
    sampleMachine({
      id: "m4",
      name: "clean-room",
      kind: "container",
      ssh: null,
      container: {
        engine: "podman",
        image: null,
        containerfile: "/home/me/src/website/Containerfile",
        devcontainer: null,
        network: "none",
        memory_mb: 4096,
        cpus: 2,
        pids: 500,
        mounts: [{ source: "/home/me/.cargo/registry", target: "/cargo", read_only: true }],
        user: null,
      },
      ...(busy ? { runs: 1, tasks: 1, contact: "live", contact_since: at(40) } : {}),
    }),
    sampleMachine({
      id: "m5",
      name: "hpc",
      kind: "slurm",
      ssh: null,
      slurm: {
        partition: "gpu",
        account: "vision-lab",
        time_minutes: 1440,
        cpus: 8,
        memory_mb: 32_768,
        gres: "gpu:1",
        via: "build-farm",
      },
      root: "/shared/me/forge",
      labels: ["cluster"],
      ...(busy ? { tasks: 1, contact: "live", contact_since: at(25) } : {}),
    }),
  ];
}

export const sampleHosts: readonly SshHost[] = [
  { alias: "attic", target: "me@attic.local:22 over gate", machine_id: "m2" },
  { alias: "gate", target: "me@gate.example:22", machine_id: null },
  { alias: "studio", target: "anna@studio.local:22", machine_id: null },
];

export const samplePassed: MachineTest = {
  ok: true,
  steps: [
    { name: "reach", ok: true, message: "gpu.example answers", remedy: null },
    { name: "host key", ok: true, message: "the host key is known", remedy: null },
    { name: "sign-in", ok: true, message: "signed in as me", remedy: null },
    { name: "keeper", ok: true, message: "the keeper 0.1.0 runs in ~/.forge", remedy: null },
    { name: "git", ok: true, message: "git 2.50.0", remedy: null },
    { name: "disk", ok: true, message: "412 GB are free", remedy: null },
    { name: "program codex", ok: true, message: "/usr/local/bin/codex", remedy: null },
    {
      name: "program claude",
      ok: false,
      message: "claude is not on the PATH of the login shell there",
      remedy: "Install it there with `npm install -g @anthropic-ai/claude-code`.",
    },
    { name: "clock", ok: true, message: "the clocks agree", remedy: null },
  ],
};

export const sampleFailed: MachineTest = {
  ok: false,
  steps: [
    {
      name: "reach",
      ok: false,
      message: "attic did not answer within 15 s",
      remedy: "Make sure that the machine is on, then try `ssh attic`.",
    },
  ],
};

/** The test of a cluster whose folder is not shared. */
export const sampleUnshared: MachineTest = {
  ok: false,
  steps: [
    { name: "slurm", ok: true, message: "The controller answers on build-farm.", remedy: null },
    { name: "job", ok: true, message: "Job 4711 is running on node17.", remedy: null },
    {
      name: "shared folder",
      ok: false,
      message:
        "Could not find `/shared/me/forge` on build-farm: files that a job writes there are not visible.",
      remedy:
        "Choose a folder on a file system that the nodes and the computer that submits jobs share.",
    },
  ],
};

const tests: Readonly<Record<string, MachineTest>> = { m2: sampleFailed, m5: sampleUnshared };

export function machineAnswers(sample: string | null): Handlers {
  const machines = sampleMachines(sample);
  return {
    machine_list: () => pageOf(machines),
    machine_get: ({ machine_id }) =>
      machines.find(({ id }) => id === machine_id) ??
      refuse("not_found", `failed to find the machine ${machine_id}`),
    machine_hosts: () =>
      pageOf(
        sample === "empty"
          ? sampleHosts.map((host) => ({ ...host, machine_id: null }))
          : sampleHosts,
      ),
    machine_test: ({ machine_id }) => tests[machine_id] ?? samplePassed,
  };
}
