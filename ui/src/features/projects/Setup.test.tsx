import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { describe, expect, it } from "vitest";
// Loaded before the tests: as a chunk it may take longer than a test has.
import "./ProjectSettingsScreen.tsx";
import { inputsOf, openApp, violationsIn } from "#ui/test/renderApp.tsx";
import { refuse, refuseInput } from "#ui/test/answers.ts";
import { createSampleHost } from "#ui/test/sampleHost.ts";
import { sampleSettings } from "#ui/test/sampleSettings.ts";

it("adds a pattern that is redacted", async () => {
  const host = createSampleHost(null, 20);
  const { container } = openApp(host, "#/settings/project/p1?tab=setup");
  const group = await screen.findByRole("group", { name: "Redact these patterns" });
  await userEvent.click(within(group).getByRole("button", { name: "Add expression" }));
  await userEvent.type(within(group).getByRole("textbox"), "cust-\\d+");
  await userEvent.click(screen.getByRole("button", { name: "Save" }));
  await waitFor(() =>
    expect(inputsOf(host, "project_settings_update")).toEqual([
      { project_id: "p1", redact: ["cust-\\d+"] },
    ]),
  );
  expect(await violationsIn(container)).toEqual([]);
});

describe("the sandbox", () => {
  const sandboxed = (mode: string) =>
    sampleSettings({
      sandbox: { mode, write: ["~/.cargo"], hide: ["~/.ssh", "~/.aws"], ports: [80, 443] },
    });
  const open = (mode: string) => {
    const host = createSampleHost(null, 20);
    host.answer("project_settings_get", sandboxed(mode));
    return { host, ...openApp(host, "#/settings/project/p1?tab=setup") };
  };
  const choice = () => screen.findByRole("combobox", { name: "Sandbox mode" });
  const lines = (name: string) => screen.queryByRole("group", { name });
  const updates = (host: ReturnType<typeof createSampleHost>) =>
    inputsOf(host, "project_settings_update");

  it("is chosen, and asks only for what its mode needs", async () => {
    const { host, container } = open("off");
    await choice();
    expect(lines("Hidden paths")).toBeNull();
    const show = () => host.answer("project_settings_get", sandboxed("files"));
    host.after("project_settings_update", sandboxed("files"), show, "projects");
    await userEvent.click(await choice());
    await userEvent.click(await screen.findByRole("option", { name: "Files" }));
    await screen.findByRole("group", { name: "Hidden paths" });
    expect(updates(host)).toEqual([]);
    await userEvent.click(screen.getByRole("button", { name: "Save" }));
    await waitFor(() => expect(screen.queryByRole("button", { name: "Save" })).toBeNull());
    expect(updates(host)).toEqual([{ project_id: "p1", sandbox: { mode: "files" } }]);
    expect(lines("Writable paths")).not.toBeNull();
    expect(lines("Allowed ports")).toBeNull();
    expect(screen.getByText(/can write only to the task's worktree/)).toBeTruthy();
    expect(await violationsIn(container)).toEqual([]);
  });

  it("hides the paths that are listed", async () => {
    const { host } = open("files");
    const group = await screen.findByRole("group", { name: "Hidden paths" });
    await userEvent.click(within(group).getByRole("button", { name: "Add path" }));
    await userEvent.type(
      within(group).getByRole("textbox", { name: "Hidden paths, line 3" }),
      "~/.kube",
    );
    await userEvent.click(screen.getByRole("button", { name: "Save" }));
    await waitFor(() =>
      expect(updates(host)).toEqual([
        { project_id: "p1", sandbox: { hide: ["~/.ssh", "~/.aws", "~/.kube"] } },
      ]),
    );
  });

  it("takes ports as numbers and refuses what is no port at its line", async () => {
    const { host, container } = open("files_and_network");
    const group = await screen.findByRole("group", { name: "Allowed ports" });
    await userEvent.click(within(group).getByRole("button", { name: "Add port" }));
    const field = within(group).getByRole("textbox", { name: "Allowed ports, line 3" });
    const problems = () => within(group).queryAllByText("Enter a port from 1 to 65535.");
    const save = () => screen.getByRole("button", { name: "Save" });
    for (const wrong of ["ssh", "0", "65536", "1.5", "-1", "1e3"]) {
      await userEvent.clear(field);
      await userEvent.type(field, wrong);
      expect(problems()).toHaveLength(1);
      expect(field.getAttribute("aria-invalid")).toBe("true");
      await userEvent.click(save());
    }
    expect(await violationsIn(container)).toEqual([]);
    expect(updates(host)).toEqual([]);
    await userEvent.clear(field);
    await userEvent.type(field, " 8080 ");
    expect(problems()).toEqual([]);
    await userEvent.click(save());
    await waitFor(() =>
      expect(updates(host)).toEqual([{ project_id: "p1", sandbox: { ports: [80, 443, 8080] } }]),
    );
  });

  it("says what the engine found wrong with its paths", async () => {
    const { host } = open("files");
    host.answer("project_settings_update", () =>
      refuseInput("failed to save the settings", "sandbox.write[0]", "is not an absolute path"),
    );
    const group = await screen.findByRole("group", { name: "Writable paths" });
    await userEvent.type(within(group).getByRole("textbox"), "/x");
    await userEvent.click(screen.getByRole("button", { name: "Save" }));
    const problem = await within(group).findByText("is not an absolute path");
    expect(problem.isConnected).toBe(true);
  });
});

describe("where tasks run", () => {
  it("is labels that are saved by the button, with the machine that fits", async () => {
    const host = createSampleHost("machines", 20);
    const { container } = openApp(host, "#/settings/project/p1?tab=setup");
    await userEvent.click(await screen.findByRole("combobox", { name: "Runs on" }));
    // Nothing is inherited by a project.
    expect((await screen.findAllByRole("option")).map(({ textContent }) => textContent)).toEqual([
      "This computer",
      "Machines with labels",
    ]);
    await userEvent.click(screen.getByRole("option", { name: "Machines with labels" }));
    const box = screen.getByRole("textbox", { name: "Labels or machine names" });
    expect(screen.queryByRole("button", { name: "Save" })).toBeNull();
    await userEvent.type(box, "build-farm");
    await screen.findByText("build-farm fits, but is draining.");
    await userEvent.click(screen.getByRole("button", { name: "Save" }));
    await waitFor(() =>
      expect(inputsOf(host, "project_settings_update")).toEqual([
        { project_id: "p1", machines: ["build-farm"] },
      ]),
    );
    expect(await violationsIn(container)).toEqual([]);
  });

  it("claims nothing of machines that could not be read", async () => {
    const host = createSampleHost("machines", 20);
    host.answer("project_settings_get", sampleSettings({ machines: ["gpu"] }));
    host.answer("machine_list", () => refuse("internal", "the database is locked"));
    openApp(host, "#/settings/project/p1?tab=setup");
    await screen.findByText("Could not load the machines");
    expect(screen.queryByText(/no machines yet/)).toBeNull();
  });

  it("says what the engine found wrong", async () => {
    const host = createSampleHost("machines", 20);
    host.answer("project_settings_get", sampleSettings({ machines: ["gpu"] }));
    host.answer("project_settings_update", () =>
      refuseInput("failed to save the settings", "machines[1]", "is no label"),
    );
    openApp(host, "#/settings/project/p1?tab=setup");
    const box = await screen.findByRole("textbox", { name: "Labels or machine names" });
    await userEvent.type(box, ", local{Enter}");
    await screen.findByText("is no label");
    expect(box.getAttribute("aria-invalid")).toBe("true");
  });
});
