import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { describe, expect, it } from "vitest";
// Loaded before the tests: as a chunk it may take longer than a test has.
import "./MachinesScreen.tsx";
import type { Machine } from "#ui/api/generated.ts";
import { inputsOf, openApp, violationsIn } from "#ui/test/renderApp.tsx";
import { pageOf, refuseInput } from "#ui/test/answers.ts";
import { createSampleHost } from "#ui/test/sampleHost.ts";
import { sampleMachine, sampleMachines } from "#ui/test/sampleMachines.ts";

const open = (machines: readonly Machine[] = sampleMachines()) => {
  const host = createSampleHost(null, 20);
  host.answer("machine_list", pageOf([...machines]));
  return { host, ...openApp(host, "#/machines") };
};
const listed = () => screen.findByRole("list", { name: "Machines" });
const rowOf = async (name: string) =>
  (await screen.findByRole("heading", { level: 2, name })).closest("li")!;

/** The dialog of a new cluster, named. */
async function adding() {
  await listed();
  await userEvent.keyboard("n");
  const dialog = await screen.findByRole("dialog", { name: "Add machine" });
  await userEvent.click(within(dialog).getByRole("radio", { name: "Cluster (Slurm)" }));
  await userEvent.type(within(dialog).getByRole("textbox", { name: "Name" }), "hpc");
  return { dialog, inside: within(dialog) };
}

const nothingAsked = {
  partition: null,
  account: null,
  time_minutes: null,
  cpus: null,
  memory_mb: null,
  gres: null,
};
const rest = {
  labels: [],
  caps: { runs: null },
  quota: { runs_per_day: null, micro_usd_per_day: null },
};

describe("a cluster in the list", () => {
  it("tells where its jobs are submitted and what they ask for", async () => {
    open();
    expect((await rowOf("hpc")).textContent).toContain(
      "hpcSlurm via build-farmpartition gpu\u00a0· account vision-lab\u00a0· at most 1,440 minutes\u00a0· 8 processors\u00a0· 32,768 MiB\u00a0· gpu:1",
    );
  });

  it("is Slurm alone where this computer submits, and asks for nothing that is not said", async () => {
    const plain = sampleMachine({ name: "hpc", kind: "slurm", ssh: null, slurm: { cpus: 1 } });
    const bare = sampleMachine({ id: "m9", name: "bare", kind: "slurm", ssh: null, slurm: {} });
    open([plain, bare]);
    expect((await rowOf("hpc")).textContent).toContain("hpcSlurm1 processor0 runs");
    expect((await rowOf("bare")).textContent).toContain("bareSlurm0 runs");
  });

  it("is tested in a job, step by step", async () => {
    open();
    await userEvent.click(await screen.findByRole("button", { name: "Test hpc" }));
    const steps = await screen.findByRole("list", { name: "Test of hpc" });
    const texts = within(steps)
      .getAllByRole("listitem")
      .map(({ textContent }) => textContent);
    expect(texts[1]).toBe("Passed: job Job 4711 is running on node17.");
    expect(texts[2]).toMatch(/^Failed: shared folder Could not find .*Choose a folder on a file/);
  });

  it("says that the test is a job, as long as it goes on", async () => {
    const { host } = open();
    host.answer("machine_test", () => new Promise(() => {}));
    await userEvent.click(await screen.findByRole("button", { name: "Test hpc" }));
    expect(await screen.findByText(/Submitting a job and testing in it/)).toBeTruthy();
  });

  it("is removed with a word about its folder", async () => {
    open();
    await userEvent.click(await screen.findByRole("button", { name: "Remove hpc" }));
    const dialog = await screen.findByRole("alertdialog", { name: "Remove hpc?" });
    expect(dialog.textContent).toContain(
      "Forge forgets this cluster. The folder /shared/me/forge stays on it.",
    );
  });
});

describe("the dialog of a cluster", () => {
  it("adds one that asks for nothing and is submitted on this computer", async () => {
    const { host, container } = open();
    const { dialog, inside } = await adding();
    expect(dialog.textContent).toContain("Each task gets one cluster job.");
    expect(inside.queryByRole("textbox", { name: "Host" })).toBeNull();
    expect(inside.queryByRole("textbox", { name: "Image" })).toBeNull();
    expect(await violationsIn(container)).toEqual([]);
    await userEvent.click(inside.getByRole("button", { name: "Add machine" }));
    const slurm = { ...nothingAsked, via: null };
    await waitFor(() =>
      expect(inputsOf(host, "machine_create")).toEqual([
        { name: "hpc", slurm, root: "~/.forge", ...rest },
      ]),
    );
    await waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());
  });

  it("adds one with a login node and all that jobs ask for", async () => {
    const { host } = open();
    const { inside } = await adding();
    await userEvent.click(inside.getByRole("combobox", { name: "Submit jobs from" }));
    const options = (await screen.findAllByRole("option")).map(({ textContent }) => textContent);
    // A container and a cluster submit nothing.
    expect(options).toEqual(["This computer", "gpu-box", "attic", "build-farm"]);
    await userEvent.click(screen.getByRole("option", { name: "attic" }));
    for (const [name, text] of [
      ["Shared folder", "/shared/me/forge"],
      ["Partition", "gpu,long"],
      ["Account", "lab-1"],
      ["Time limit (minutes)", "9a0"],
      ["Generic resources (GRES)", "gpu:1"],
      ["Processors", "1.6"],
      ["Memory (MiB)", "32768"],
    ] as const) {
      await userEvent.click(inside.getByRole("textbox", { name }));
      await userEvent.paste(text);
    }
    await userEvent.click(inside.getByRole("button", { name: "Add machine" }));
    await waitFor(() =>
      expect(inputsOf(host, "machine_create")).toMatchObject([
        {
          slurm: {
            partition: "gpu,long",
            account: "lab-1",
            time_minutes: 90,
            cpus: 16,
            memory_mb: 32_768,
            gres: "gpu:1",
            via: "attic",
          },
          root: "/shared/me/forge",
        },
      ]),
    );
  });

  it("changes one, whose kind stays, back to this computer and what the cluster decides", async () => {
    const { host } = open();
    await userEvent.click(await screen.findByRole("button", { name: "Edit hpc" }));
    const inside = within(await screen.findByRole("dialog", { name: "Edit hpc" }));
    expect(inside.queryByRole("radio")).toBeNull();
    const via = inside.getByRole("combobox", { name: "Submit jobs from" });
    expect(via.textContent).toContain("build-farm");
    await userEvent.click(via);
    await userEvent.click(await screen.findByRole("option", { name: "This computer" }));
    for (const name of [
      "Partition",
      "Account",
      "Time limit (minutes)",
      "Generic resources (GRES)",
      "Processors",
      "Memory (MiB)",
    ]) {
      await userEvent.clear(inside.getByRole("textbox", { name }));
    }
    await userEvent.click(inside.getByRole("button", { name: "Save" }));
    await waitFor(() =>
      expect(inputsOf(host, "machine_update")).toEqual([
        {
          machine_id: "m5",
          name: "hpc",
          slurm: { ...nothingAsked, via: null },
          root: "/shared/me/forge",
          ...rest,
          labels: ["cluster"],
        },
      ]),
    );
  });

  it("says what to do for a login node while no machine of ssh is known", async () => {
    const hint = /add that node as an SSH machine first/;
    const { host } = open(sampleMachines().filter(({ kind }) => kind !== "ssh"));
    const { dialog, inside } = await adding();
    await within(dialog).findByText(hint);
    await userEvent.click(inside.getByRole("combobox", { name: "Submit jobs from" }));
    expect(await screen.findAllByRole("option")).toHaveLength(1);
    await userEvent.keyboard("{Escape}");
    host.answer("machine_list", pageOf(sampleMachines()));
    host.commit({ tags: ["machines"] });
    await waitFor(() => expect(within(dialog).queryByText(hint)).toBeNull());
  });

  it.each([
    ["slurm.partition", "Partition", "must be the name of a partition"],
    ["slurm.account", "Account", "must be the name of an account"],
    ["slurm.time_minutes", "Time limit (minutes)", "must be at least 1"],
    ["slurm.cpus", "Processors", "must be at least 1"],
    ["slurm.memory_mb", "Memory (MiB)", "must be at least 64"],
    ["slurm.gres", "Generic resources (GRES)", "must be generic resources"],
    ["slurm.via", "Submit jobs from", "there is no machine named gone"],
    ["root", "Shared folder", "must be a folder"],
  ])("says what is wrong with %s at the field %s", async (path, field, said) => {
    const { host } = open();
    host.answer("machine_create", () => refuseInput("failed to add the machine", path, said));
    const { dialog, inside } = await adding();
    await userEvent.click(inside.getByRole("button", { name: "Add machine" }));
    await inside.findByText(said);
    const marked = [...dialog.querySelectorAll("[aria-invalid=true]")];
    const role = path === "slurm.via" ? "combobox" : "textbox";
    expect(marked).toEqual([inside.getByRole(role, { name: field })]);
    expect(inside.queryByText("Could not save the machine")).toBeNull();
  });
});
