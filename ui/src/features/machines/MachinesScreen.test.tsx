import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { describe, expect, it } from "vitest";
// Loaded before the tests: as a chunk it may take longer than a test has.
import "./MachinesScreen.tsx";
import type { MachineTest } from "#ui/api/generated.ts";
import { inputsOf, openApp, violationsIn } from "#ui/test/renderApp.tsx";
import { pageOf, refuse, refuseInput } from "#ui/test/answers.ts";
import { createSampleHost } from "#ui/test/sampleHost.ts";
import {
  sampleHosts,
  sampleMachine,
  sampleMachines,
  samplePassed,
} from "#ui/test/sampleMachines.ts";

const open = (sample: string | null = null) => {
  const host = createSampleHost(sample, 20);
  return { host, ...openApp(host, "#/machines") };
};
const listed = () => screen.findByRole("list", { name: "Machines" });
const press = (name: string | RegExp) => async () =>
  userEvent.click(await screen.findByRole("button", { name }));

describe("the list", () => {
  it("tells where each machine leads, its labels and the contact with what to do", async () => {
    const { container } = open();
    const rows = [...(await listed()).children].map(({ textContent }) => textContent);
    expect(rows).toHaveLength(5);
    expect(rows[0]).toMatch(
      /gpu-box.*me@gpu\.example:2222.*gpubig.*0 of 4 runs0 tasks.*Connected since /,
    );
    expect(rows[1]).toMatch(
      /atticattic.*arm.*0 runs.*Not reachable since .*did not answer within 15 s/,
    );
    expect(rows[1]).toContain("then try ssh attic.");
    expect(rows[2]).toMatch(/build-farm.*ci@build\.example.*Not contacted yet/);
    expect(rows[3]).toContain(
      "clean-room/home/me/src/website/Containerfilepodman\u00a0· no network\u00a0· 4,096 MiB\u00a0· 2 processors\u00a0· 500 processes\u00a0· 1 mount",
    );
    expect(await violationsIn(container)).toEqual([]);
  });

  it("follows a change of the contact", async () => {
    const { host } = open();
    await listed();
    host.answer("machine_list", pageOf([sampleMachine({ contact: "live" })]));
    host.commit({ tags: ["machines"] });
    await waitFor(() => expect(screen.queryByText("Not contacted yet")).toBeNull());
  });

  it("is reached by link, by keys and from the palette", async () => {
    openApp(createSampleHost(null, 20), "#/settings");
    await screen.findByRole("heading", { level: 1, name: "Settings" });
    expect(screen.getByRole("link", { name: /^Machines/ }).getAttribute("href")).toBe("#/machines");
    await userEvent.keyboard("gm");
    await listed();
    await userEvent.keyboard("{Control>}k{/Control}");
    await userEvent.type(await screen.findByRole("combobox"), "import ssh hosts");
    await userEvent.keyboard("{Enter}");
    await screen.findByRole("dialog", { name: "Import from SSH config" });
  });

  it("names both ways to begin while there is no machine", async () => {
    const { container } = open("empty");
    await screen.findByRole("heading", { name: "No machines yet" });
    expect(await violationsIn(container)).toEqual([]);
    await press(/^Add machine/)();
    await screen.findByRole("dialog", { name: "Add machine" });
    await userEvent.keyboard("{Escape}");
    await waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());
    await press(/^Import SSH hosts/)();
    await screen.findByRole("dialog", { name: "Import from SSH config" });
  });

  it("says why it could not be read", async () => {
    open("broken");
    const alert = await screen.findByText("Could not load the machines");
    expect(alert.closest("[role=alert]")?.textContent).toContain("the database is locked");
  });
});

describe("a test", () => {
  it("is busy until it is answered, then tells every step, and goes away", async () => {
    const { host, container } = open();
    let answer = (_test: MachineTest) => {};
    host.answer("machine_test", () => new Promise((resolve) => (answer = resolve)));
    await listed();
    await press("Test gpu-box")();
    const button = screen.getByRole("button", { name: "Test gpu-box" });
    await screen.findByText(/This can take up to a minute/);
    expect(button.getAttribute("aria-busy")).toBe("true");
    answer(samplePassed);
    const outcome = await screen.findByText("The machine is ready");
    expect(outcome.closest("[role=status]")?.textContent).toBe(
      "The machine is ready8 of 9 steps passed",
    );
    const steps = within(screen.getByRole("list", { name: "Test of gpu-box" }));
    const texts = steps.getAllByRole("listitem").map(({ textContent }) => textContent);
    expect(texts[0]).toBe("Passed: reach gpu.example answers");
    expect(texts[7]).toMatch(/^Failed: program claude claude is not on the PATH.*Install it there/);
    expect(inputsOf(host, "machine_test")).toEqual([{ machine_id: "m1" }]);
    expect(await violationsIn(container)).toEqual([]);
    await press("Hide test of gpu-box")();
    expect(screen.queryByRole("list", { name: "Test of gpu-box" })).toBeNull();
    expect(document.activeElement).toBe(button);
  });

  it("that fails says at which step and what to do, and is no error of the page", async () => {
    open();
    await press("Test attic")();
    await screen.findByText("The machine is not ready");
    const steps = screen.getByRole("list", { name: "Test of attic" });
    expect(steps.textContent).toContain("Failed: reach attic did not answer");
    expect(steps.textContent).toContain("Make sure that the machine is on");
    expect(screen.queryByRole("alert")).toBeNull();
  });

  it("of a machine that was changed since is not shown", async () => {
    const { host } = open();
    await press("Test gpu-box")();
    await screen.findByText("The machine is ready");
    const [, ...others] = sampleMachines();
    const changed = sampleMachine({ updated_at: new Date().toISOString(), root: "/srv" });
    host.answer("machine_list", pageOf([changed, ...others]));
    host.commit({ tags: ["machines"] });
    await waitFor(() => expect(screen.queryByText("The machine is ready")).toBeNull());
  });

  it("says at its machine that it could not be made", async () => {
    const { host } = open();
    host.answer("machine_test", () => refuse("internal", "failed to read the keeper's program"));
    await press("Test gpu-box")();
    await screen.findByText(/Could not test the machine: failed to read the keeper's program\./);
    expect((await listed()).children).toHaveLength(5);
  });
});

describe("the dialog", () => {
  const dialogOf = (name: string) => screen.findByRole("dialog", { name });

  it("adds a machine, by keys alone", async () => {
    const { host, container } = open();
    await listed();
    await userEvent.keyboard("n");
    const dialog = await dialogOf("Add machine");
    const add = within(dialog).getByRole("button", { name: "Add machine" });
    expect(add.hasAttribute("disabled")).toBe(true);
    expect(await violationsIn(container)).toEqual([]);
    await userEvent.keyboard("box{Tab}box.example{Tab}me{Tab}22a22{Tab}~/.ssh/box{Tab}");
    await userEvent.keyboard(
      "ProxyJump=gate{Enter}Compression=yes{Tab}{Tab}gpu, big{Tab}2{Tab}40{Tab}12.50{Tab}{Tab}",
    );
    expect(document.activeElement).toBe(add);
    await userEvent.keyboard("{Enter}");
    await waitFor(() =>
      expect(inputsOf(host, "machine_create")).toEqual([
        {
          name: "box",
          ssh: {
            host: "box.example",
            user: "me",
            port: 2222,
            identity_file: "~/.ssh/box",
            options: ["ProxyJump=gate", "Compression=yes"],
          },
          root: "~/.forge",
          labels: ["gpu", "big"],
          caps: { runs: 2 },
          quota: { runs_per_day: 40, micro_usd_per_day: 12_500_000 },
        },
      ]),
    );
    await waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());
  });

  it("changes a machine and can take everything back to the defaults", async () => {
    const { host } = open();
    await press("Edit attic")();
    const dialog = await dialogOf("Edit attic");
    const box = (name: string) => within(dialog).getByRole<HTMLInputElement>("textbox", { name });
    expect(box("SSH options").value).toBe("ProxyJump=gate\nCompression=yes");
    for (const name of ["Key file", "SSH options", "Folder on the machine", "Labels"]) {
      await userEvent.clear(box(name));
    }
    await userEvent.click(within(dialog).getByRole("button", { name: "Save" }));
    await waitFor(() =>
      expect(inputsOf(host, "machine_update")).toEqual([
        {
          machine_id: "m2",
          name: "attic",
          ssh: { host: "attic", user: null, port: null, identity_file: null, options: [] },
          root: "~/.forge",
          labels: [],
          caps: { runs: null },
          quota: { runs_per_day: null, micro_usd_per_day: null },
        },
      ]),
    );
  });

  it("adds a machine of containers", async () => {
    const { host, container } = open();
    await listed();
    await userEvent.keyboard("n");
    const dialog = await dialogOf("Add machine");
    const inside = within(dialog);
    await userEvent.click(inside.getByRole("radio", { name: "Container" }));
    expect(dialog.textContent).toContain("removed with the task's worktree");
    expect(inside.queryByRole("textbox", { name: "Host" })).toBeNull();
    expect(await violationsIn(container)).toEqual([]);
    const type = async (name: string, text: string) =>
      userEvent.type(inside.getByRole("textbox", { name }), text);
    await type("Name", "box");
    const add = inside.getByRole("button", { name: "Add machine" });
    expect(add.hasAttribute("disabled")).toBe(true);
    await type("Image", "debian:12");
    await type("Memory (MiB)", "4096");
    await type("Processors", "1.5");
    await type("Mounts", "/srv/cache:/cache:rw{Enter}/srv/data:/data");
    await userEvent.click(inside.getByRole("combobox", { name: "Network" }));
    await userEvent.click(await screen.findByRole("option", { name: "No network" }));
    await userEvent.click(add);
    await waitFor(() =>
      expect(inputsOf(host, "machine_create")).toEqual([
        {
          name: "box",
          container: {
            engine: "auto",
            image: "debian:12",
            containerfile: null,
            devcontainer: null,
            network: "none",
            memory_mb: 4096,
            cpus: 1.5,
            pids: null,
            mounts: [
              { source: "/srv/cache", target: "/cache", read_only: false },
              { source: "/srv/data", target: "/data", read_only: true },
            ],
            user: null,
          },
          root: "~/.forge",
          labels: [],
          caps: { runs: null },
          quota: { runs_per_day: null, micro_usd_per_day: null },
        },
      ]),
    );
  });

  it("changes a machine of containers, whose kind stays", async () => {
    const { host } = open();
    await press("Edit clean-room")();
    const dialog = await dialogOf("Edit clean-room");
    expect(within(dialog).queryByRole("radio")).toBeNull();
    const source = within(dialog).getByRole<HTMLInputElement>("textbox", {
      name: "Path of the Containerfile",
    });
    expect(source.value).toBe("/home/me/src/website/Containerfile");
    const mounts = within(dialog).getByRole("textbox", { name: "Mounts" });
    await userEvent.clear(mounts);
    await userEvent.click(within(dialog).getByRole("button", { name: "Save" }));
    await waitFor(() =>
      expect(inputsOf(host, "machine_update")).toMatchObject([
        { machine_id: "m4", container: { network: "none", memory_mb: 4096, cpus: 2, mounts: [] } },
      ]),
    );
  });

  it.each([
    ["container.image", "Image", "must be the name of an image"],
    ["container.memory_mb", "Memory (MiB)", "must be at least 64"],
    ["container.cpus", "Processors", "must be between 0.1 and 1024"],
    ["container.pids", "Processes", "must be at least 16"],
    ["container.user", "User in the container", "must be a user"],
  ])("says what is wrong with %s at the field %s", async (path, field, said) => {
    const { host } = open();
    host.answer("machine_create", () => refuseInput("failed to add the machine", path, said));
    await listed();
    await userEvent.keyboard("n");
    const dialog = await dialogOf("Add machine");
    await userEvent.click(within(dialog).getByRole("radio", { name: "Container" }));
    const box = (name: string) => within(dialog).getByRole("textbox", { name });
    await userEvent.type(box("Name"), "x");
    await userEvent.type(box("Image"), "x");
    await userEvent.click(within(dialog).getByRole("button", { name: "Add machine" }));
    await within(dialog).findByText(said);
    const wrong = within(dialog).getAllByRole("textbox");
    const marked = wrong.filter((each) => each.getAttribute("aria-invalid") === "true");
    expect(marked).toEqual([box(field)]);
  });

  it.each([
    ["name", "Name", "must be short"],
    ["ssh.host", "Host", "must be a host name"],
    ["ssh.user", "User", "must be a user name"],
    ["ssh.port", "Port", "must be a port"],
    ["ssh.identity_file", "Key file", "must be a file"],
    ["ssh.options[1]", "SSH options", "“ForwardAgent=yes” is set by Forge itself"],
    ["root", "Folder on the machine", "must be a folder"],
    ["labels[0]", "Labels", "“gpu” must be letters"],
    ["caps.runs", "Concurrent runs", "must be at least 1"],
  ])("says what is wrong with %s at the field %s", async (path, field, said) => {
    const { host } = open();
    host.answer("machine_create", () =>
      refuseInput("failed to add the machine", path, said.replace(/^“.*” /, "")),
    );
    await listed();
    await userEvent.keyboard("n");
    const dialog = await dialogOf("Add machine");
    const box = (name: string) => within(dialog).getByRole("textbox", { name });
    await userEvent.type(box("Name"), "x");
    await userEvent.type(box("Host"), "x");
    await userEvent.type(box("SSH options"), "Port=2{Enter}{Enter}ForwardAgent=yes");
    await userEvent.type(box("Labels"), "gpu");
    await userEvent.click(within(dialog).getByRole("button", { name: "Add machine" }));
    await within(dialog).findByText(said);
    const wrong = within(dialog).getAllByRole("textbox");
    const marked = wrong.filter((each) => each.getAttribute("aria-invalid") === "true");
    expect(marked).toEqual([box(field)]);
    expect(within(dialog).queryByText("Could not save the machine")).toBeNull();
  });

  it("says at the name that it is taken, and anything else above the fields", async () => {
    const { host } = open();
    host.answer("machine_create", () => refuse("name_taken", "a machine named x already exists"));
    await listed();
    await userEvent.keyboard("n");
    const dialog = await dialogOf("Add machine");
    const name = within(dialog).getByRole("textbox", { name: "Name" });
    await userEvent.type(name, "x");
    await userEvent.type(within(dialog).getByRole("textbox", { name: "Host" }), "x");
    const add = within(dialog).getByRole("button", { name: "Add machine" });
    await userEvent.click(add);
    await within(dialog).findByText("a machine named x already exists");
    expect(name.getAttribute("aria-invalid")).toBe("true");
    host.answer("machine_create", () => refuse("internal", "the disk is full"));
    await userEvent.click(add);
    await within(dialog).findByText("the disk is full");
    within(dialog).getByText("Could not save the machine");
  });
});

describe("draining", () => {
  it("starts nothing new there until the machine is used again", async () => {
    const { host, container } = open("machines");
    await listed();
    const drained = sampleMachine({ caps: { runs: 2 }, runs: 2, tasks: 2, draining: true });
    host.after(
      "machine_update",
      drained,
      () => host.answer("machine_list", pageOf([drained])),
      "machines",
    );
    await press("Drain gpu-box")();
    await screen.findByText("No new runs start on gpu-box");
    const again = await screen.findByRole("button", { name: "Use again: gpu-box" });
    expect((await listed()).textContent).toContain("gpu-boxDraining");
    expect(await violationsIn(container)).toEqual([]);
    host.after(
      "machine_update",
      sampleMachine(),
      () => host.answer("machine_list", pageOf([sampleMachine()])),
      "machines",
    );
    await userEvent.click(again);
    await screen.findByText("New runs can start on gpu-box again");
    await screen.findByRole("button", { name: "Drain gpu-box" });
    expect(inputsOf(host, "machine_update")).toEqual([
      { machine_id: "m1", draining: true },
      { machine_id: "m1", draining: false },
    ]);
  });

  it("says why it could not be done", async () => {
    const { host } = open("machines");
    host.answer("machine_update", () => refuse("internal", "the disk is full"));
    await press("Drain gpu-box")();
    await screen.findByText("Could not drain gpu-box");
    const detail = await screen.findByText("the disk is full.");
    expect(detail.isConnected).toBe(true);
  });
});

it("tells runs and tasks of each machine, and leads to its runs", async () => {
  open("machines");
  const rows = [...(await listed()).children].map(({ textContent }) => textContent);
  expect(rows[0]).toContain("2 of 2 runs2 tasks");
  expect(rows[1]).toContain("0 runs1 task");
  const link = screen.getByRole("link", { name: "Runs on gpu-box: 2 of 2 runs" });
  expect(link.getAttribute("href")).toBe("#/runs?machine=m1");
});

describe("removing", () => {
  it("says beforehand that tasks are there, and then in the engine's words of which", async () => {
    const { host } = open("machines");
    host.answer("machine_delete", () =>
      refuse(
        "in_use",
        "worktrees of #3 are on attic: drain it, and close those tasks or reset their workspaces first",
      ),
    );
    await press("Remove attic")();
    const dialog = await screen.findByRole("alertdialog", { name: "Remove attic?" });
    expect(dialog.textContent).toContain("1 task has its worktree there.");
    await userEvent.click(within(dialog).getByRole("button", { name: "Remove machine" }));
    const alert = await within(dialog).findByRole("alert");
    expect(alert.textContent).toContain("worktrees of #3 are on attic: drain it");
  });

  it("asks once, says what stays, and says why when it is refused", async () => {
    const { host, container } = open();
    await press("Remove attic")();
    const dialog = await screen.findByRole("alertdialog", { name: "Remove attic?" });
    expect(dialog.textContent).toContain("The folder /srv/forge stays on it");
    expect(await violationsIn(container)).toEqual([]);
    host.answer("machine_delete", () => refuse("in_use", "tasks name it"));
    await userEvent.click(within(dialog).getByRole("button", { name: "Remove machine" }));
    await within(dialog).findByText("tasks name it.");
    const rest = () =>
      host.answer("machine_list", pageOf(sampleMachines().filter(({ id }) => id !== "m2")));
    host.after("machine_delete", { done: true, jobs_left: [] }, rest, "machines");
    await userEvent.click(within(dialog).getByRole("button", { name: "Remove machine" }));
    await waitFor(() => expect(screen.queryByRole("heading", { name: "attic" })).toBeNull());
    expect(inputsOf(host, "machine_delete").at(-1)).toEqual({ machine_id: "m2" });
  });
});

describe("the import", () => {
  const importing = async () => {
    await listed();
    await userEvent.keyboard("i");
    return screen.findByRole("dialog", { name: "Import from SSH config" });
  };
  const hostBox = (dialog: HTMLElement, name: RegExp) =>
    within(dialog).getByRole("checkbox", { name });

  it("marks hosts that are machines already, and adds the picked ones by their alias", async () => {
    const { host, container } = open();
    const dialog = await importing();
    await within(dialog).findByText("me@gate.example:22");
    const known = hostBox(dialog, /^attic/);
    expect(known.getAttribute("aria-disabled")).toBe("true");
    expect(known.getAttribute("aria-checked")).toBe("true");
    within(dialog).getByText(/Added as attic/);
    expect(await violationsIn(container)).toEqual([]);
    await userEvent.click(hostBox(dialog, /^All hosts/));
    await userEvent.click(hostBox(dialog, /^gate/));
    expect(hostBox(dialog, /^All hosts/).getAttribute("aria-checked")).toBe("mixed");
    await userEvent.click(within(dialog).getByRole("button", { name: "Add 1 machine" }));
    await screen.findByText("1 machine added");
    expect(inputsOf(host, "machine_create")).toEqual([{ name: "studio", ssh: { host: "studio" } }]);
    await waitFor(() => expect(screen.queryByRole("dialog", { name: /^Import/ })).toBeNull());
  });

  it("keeps those that were refused with the reason, after the others were added", async () => {
    const { host } = open();
    host.answer("machine_create", ({ name }) =>
      name === "gate"
        ? refuse("name_taken", "a machine named gate already exists")
        : sampleMachine({ name }),
    );
    const dialog = await importing();
    await userEvent.click(await within(dialog).findByRole("checkbox", { name: /^All hosts/ }));
    await userEvent.click(within(dialog).getByRole("button", { name: "Add 2 machines" }));
    await within(dialog).findByText("a machine named gate already exists.");
    expect(within(dialog).getByRole("alert").textContent).toContain("Could not add 1 machine");
    expect(inputsOf(host, "machine_create")).toHaveLength(2);
    expect(hostBox(dialog, /^gate/).getAttribute("aria-checked")).toBe("true");
    expect(hostBox(dialog, /^studio/).getAttribute("aria-checked")).toBe("false");
  });

  it("reads the configuration again whenever it is opened", async () => {
    const { host } = open();
    await within(await importing()).findByText("me@gate.example:22");
    await userEvent.keyboard("{Escape}");
    await waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());
    const fresh = { alias: "cellar", target: "me@cellar:22", machine_id: null };
    host.answer("machine_hosts", pageOf([...sampleHosts, fresh]));
    await within(await importing()).findByText("me@cellar:22");
  });

  it("says when there is no host, and why the configuration could not be read", async () => {
    const { host } = open();
    host.answer("machine_hosts", pageOf([]));
    await within(await importing()).findByText("No hosts found");
    await userEvent.keyboard("{Escape}");
    await waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());
    host.answer("machine_hosts", () => refuse("invalid", "ssh could not read line 7"));
    const dialog = await importing();
    await within(dialog).findByText("Could not read the SSH configuration");
    within(dialog).getByText("ssh could not read line 7");
  });
});
