import { act, screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { beforeEach, describe, expect, it } from "vitest";
import "../ProjectSettingsScreen.tsx"; // Before the tests: as a chunk it may take longer than a test has.
import type { ServiceDefinition } from "#ui/api/generated.ts";
import { drafts } from "#ui/draft/drafts.ts";
import { pageOf, refuse, refuseInput } from "#ui/test/answers.ts";
import { inputsOf, openApp, violationsIn } from "#ui/test/renderApp.tsx";
import { createSampleHost, type SampleHost } from "#ui/test/sampleHost.ts";
import {
  sampleRepositoryServices,
  sampleServiceOffers,
  sampleServices,
} from "#ui/test/sampleServices.ts";
import { sampleOwn, sampleSettings } from "#ui/test/sampleSettings.ts";

const [web, api] = sampleServices as [ServiceDefinition, ServiceDefinition];
const db: ServiceDefinition = { name: "db", command: "postgres -p $PORT" };
beforeEach(() => drafts.setState({ drafts: {} }));

const settingsWith = (services: readonly ServiceDefinition[] | undefined) =>
  sampleSettings({ ...sampleOwn, services });

async function open(host: SampleHost = createSampleHost(null, 12)) {
  const { container } = openApp(host, "#/settings/project/p1?tab=services");
  await screen.findByRole("button", { name: "Add service" });
  return { host, container };
}

const saves = (host: SampleHost) => inputsOf(host, "project_settings_update");
const saved = (services: readonly unknown[] | null) => [{ project_id: "p1", services }];
const rows = () =>
  [...document.querySelectorAll("ol > li")].map(
    (row) => row.querySelector("[class*=name]")?.textContent,
  );
const card = (name: RegExp) => screen.getByRole("button", { name, expanded: false });
const save = () => userEvent.click(screen.getByRole("button", { name: /^Save/ }));
const field = (name: string) => screen.getByRole("textbox", { name });

describe("the services of a project", () => {
  it("are listed in order, those of .forge.json behind its own", async () => {
    const { container } = await open();
    expect(rows()).toEqual(["web", "api", "docs"]);
    expect(within(card(/^web/)).getByText("On review")).toBeTruthy();
    expect(within(card(/^api/)).getByText("Overrides .forge.json")).toBeTruthy();
    expect(screen.queryByRole("button", { name: /^Save/ })).toBeNull();
    await userEvent.click(card(/^web/));
    expect(await violationsIn(container)).toEqual([]);
  });

  it("are edited field by field and saved as one list", async () => {
    const { host } = await open();
    await userEvent.click(card(/^api/));
    await userEvent.type(field("Folder"), "server");
    await userEvent.type(field("Path to open"), "/docs");
    await userEvent.type(field("Ready within"), "300");
    await userEvent.type(field("Stop after"), "5");
    await userEvent.click(screen.getByRole("combobox", { name: "Start" }));
    await userEvent.click(await screen.findByRole("option", { name: "On review" }));
    await userEvent.click(screen.getByRole("combobox", { name: "Ready when" }));
    await userEvent.click(await screen.findByRole("option", { name: "A path responds" }));
    await userEvent.type(field("Path"), "health");
    await userEvent.click(screen.getByRole("button", { name: "Add variable" }));
    await userEvent.type(field("Name of variable 1"), "RUST_LOG");
    await userEvent.type(field("Value of variable 1"), "debug");
    await save();
    const changed = {
      ...api,
      cwd: "server",
      open: "/docs",
      env: { RUST_LOG: "debug" },
      ready: { http: "/health" },
      ready_within_seconds: 300,
      stop_after_minutes: 5,
      start: "on_review",
    };
    await waitFor(() => expect(saves(host)).toEqual(saved([web, changed])));
  });

  it("show defaults where nothing is set", async () => {
    await open();
    await userEvent.click(card(/^api/));
    const shown = (name: string) => field(name).getAttribute("placeholder");
    expect(["Folder", "Path to open", "Ready within", "Stop after"].map(shown)).toEqual([
      "Worktree root",
      "/",
      "120",
      "60",
    ]);
  });

  it("are added by keyboard alone, and a saved list leaves nothing to save", async () => {
    const { host } = await open();
    screen.getByRole("button", { name: "Add service" }).focus();
    await userEvent.keyboard("{Enter}");
    await waitFor(() => expect(document.activeElement).toBe(field("Name")));
    await userEvent.keyboard("db");
    await userEvent.click(field("Command"));
    await userEvent.keyboard("postgres -p $PORT");
    const all = [web, api, db];
    const next = settingsWith(all);
    const show = () => host.answer("project_settings_get", next);
    host.after("project_settings_update", next, show, "projects");
    await userEvent.keyboard("{Control>}s{/Control}");
    await waitFor(() => expect(saves(host)).toEqual(saved(all)));
    await waitFor(() => expect(screen.queryByRole("button", { name: /^Save/ })).toBeNull());
    expect(screen.queryByText("The services changed elsewhere")).toBeNull();
  });

  it("are reordered by keyboard, duplicated under a free name, and removed", async () => {
    const { host } = await open();
    card(/^api/).focus();
    await userEvent.keyboard("{Alt>}{ArrowUp}{/Alt}");
    expect(rows()).toEqual(["api", "web", "docs"]);
    await waitFor(() => expect(document.activeElement).toBe(card(/^api/)));
    await userEvent.click(screen.getByRole("button", { name: "Duplicate web" }));
    expect(rows()).toEqual(["api", "web", "web-2", "docs"]);
    await userEvent.click(screen.getByRole("button", { name: "Remove web" }));
    await save();
    await waitFor(() => expect(saves(host)).toEqual(saved([api, { ...web, name: "web-2" }])));
  });

  it("give the override back when the last one is removed", async () => {
    const host = createSampleHost(null, 12);
    host.answer("project_settings_get", settingsWith([api]));
    await open(host);
    await userEvent.click(screen.getByRole("button", { name: "Remove api" }));
    // The repository's is in force again.
    expect(rows()).toEqual(["api", "docs"]);
    await save();
    await waitFor(() => expect(saves(host)).toEqual(saved(null)));
  });

  it("override one of .forge.json, starting from what it says", async () => {
    const { host } = await open();
    await userEvent.click(screen.getByRole("button", { name: "Override docs" }));
    await userEvent.type(field("Command"), " --open");
    await save();
    const docs = { ...sampleRepositoryServices[1], command: "mdbook serve --port $PORT --open" };
    await waitFor(() => expect(saves(host)).toEqual(saved([web, api, docs])));
  });

  it("show what the engine found at the field that it names, and lead there", async () => {
    const { host, container } = await open();
    await userEvent.click(card(/^web/));
    await userEvent.clear(field("Path to open"));
    await userEvent.type(field("Path to open"), "shop");
    await userEvent.click(screen.getByRole("button", { name: /^web/, expanded: true }));
    host.answer("project_settings_update", () =>
      refuseInput("failed", "services[0].open", "must be a path that begins with `/`"),
    );
    await save();
    await screen.findByText("Must be a path that begins with `/`.");
    await waitFor(() => expect(document.activeElement).toBe(field("Path to open")));
    expect(field("Path to open").getAttribute("aria-invalid")).toBe("true");
    expect(await violationsIn(container)).toEqual([]);
    // What is mended is not blamed any more.
    await userEvent.type(field("Path to open"), "{Home}/");
    expect(screen.queryByText(/Must be a path/)).toBeNull();
  });

  it("show a finding about a variable at its row, and one about the list below it", async () => {
    const { host } = await open();
    host.answer("project_settings_update", () =>
      refuse("invalid", "failed", {
        findings: [
          { path: "services[0].env.API_URL", message: "is set by Forge" },
          { path: "services", message: "must be at most 10 services" },
        ],
      }),
    );
    await userEvent.click(screen.getByRole("button", { name: "Move api up" }));
    await userEvent.click(screen.getByRole("button", { name: "Move api down" }));
    await userEvent.click(screen.getByRole("button", { name: "Duplicate api" }));
    await save();
    await screen.findByText("Is set by Forge.");
    expect(field("Name of variable 1").getAttribute("aria-invalid")).toBe("true");
    await screen.findByText("Must be at most 10 services.");
  });

  it("do not lose a value of a variable that is set twice", async () => {
    const { host } = await open();
    await userEvent.click(card(/^web/));
    await userEvent.click(screen.getByRole("button", { name: "Add variable" }));
    await userEvent.type(field("Name of variable 3"), "NODE_ENV");
    await screen.findByText("This variable is set twice.");
    await save();
    await userEvent.keyboard("{Control>}s{/Control}");
    expect(saves(host)).toEqual([]);
  });

  it("do not lose the values of variables without a name", async () => {
    const { host, container } = await open();
    await userEvent.click(card(/^api/));
    for (const number of [1, 2]) {
      await userEvent.click(screen.getByRole("button", { name: "Add variable" }));
      await userEvent.type(field(`Value of variable ${number}`), `value ${number}`);
    }
    await userEvent.keyboard("{Control>}s{/Control}");
    expect(saves(host)).toEqual([]);
    expect(screen.getByRole("button", { name: /^Save/ }).hasAttribute("disabled")).toBe(true);
    expect(screen.getAllByText("Enter a name for this value.")).toHaveLength(2);
    expect(field("Name of variable 1").getAttribute("aria-invalid")).toBe("true");
    expect(await violationsIn(container)).toEqual([]);
    // A closed card says that something is wrong in it.
    await userEvent.click(
      screen.getByRole("button", { name: /^api.*2 problems$/, expanded: true }),
    );
    await userEvent.click(card(/^api.*2 problems$/));
    expect(field("Value of variable 1")).toHaveProperty("value", "value 1");
    await userEvent.type(field("Name of variable 1"), "ONE");
    await userEvent.type(field("Name of variable 2"), "TWO");
    await save();
    const env = { ONE: "value 1", TWO: "value 2" };
    await waitFor(() => expect(saves(host)).toEqual(saved([web, { ...api, env }])));
  });

  it("keep what is not saved through another page of the settings", async () => {
    await open();
    await userEvent.click(screen.getByRole("button", { name: "Remove web" }));
    await userEvent.click(screen.getByRole("tab", { name: "Checks" }));
    await userEvent.click(screen.getByRole("tab", { name: "Services (unsaved)" }));
    await screen.findByRole("button", { name: "Add service" });
    expect(rows()).toEqual(["api", "docs"]);
    await userEvent.click(screen.getByRole("button", { name: "Discard" }));
    expect(rows()).toEqual(["web", "api", "docs"]);
  });

  it("are not saved over what was added elsewhere before a person says so", async () => {
    const { host } = await open();
    await userEvent.click(screen.getByRole("button", { name: "Remove web" }));
    host.answer("project_settings_get", settingsWith([web, api, db]));
    host.commit({ tags: ["projects"] });
    const banner = await screen.findByRole("alert", { name: "The services changed elsewhere" });
    const keep = within(banner).getByRole("button", { name: "Keep my draft" });
    await save();
    expect(document.activeElement).toBe(keep);
    await userEvent.keyboard("{Control>}s{/Control}");
    expect(saves(host)).toEqual([]);
    await userEvent.click(keep);
    await waitFor(() => expect(document.activeElement?.closest("form")).toBeTruthy());
    expect(keep.isConnected).toBe(false);
    await userEvent.keyboard("{Control>}s{/Control}");
    await waitFor(() => expect(saves(host)).toEqual(saved([api])));
  });

  it("keep what is typed while they are saved, as a change of what was saved", async () => {
    const { host } = await open();
    await userEvent.click(card(/^api/));
    await userEvent.type(field("Folder"), "server");
    const first = { ...api, cwd: "server" };
    let answer = () => {};
    host.answer(
      "project_settings_update",
      () => new Promise((resolve) => (answer = () => resolve(settingsWith([web, first])))),
    );
    await save();
    await userEvent.type(field("Folder"), "s");
    // The change is heard of before the answer is.
    const reads = inputsOf(host, "project_settings_get").length;
    host.answer("project_settings_get", settingsWith([web, first]));
    act(() => host.commit({ tags: ["projects"] }));
    await waitFor(() => expect(inputsOf(host, "project_settings_get")).toHaveLength(reads + 1));
    expect(screen.queryByText("The services changed elsewhere")).toBeNull();
    await act(async () => answer());
    const button = () => screen.getByRole("button", { name: /^Save/ });
    await waitFor(() => expect(button().hasAttribute("aria-busy")).toBe(false));
    expect(screen.queryByText("The services changed elsewhere")).toBeNull();
    expect(field("Folder")).toHaveProperty("value", "servers");
    await userEvent.click(button());
    await waitFor(() => expect(saves(host)).toHaveLength(2));
    expect(saves(host)[1]).toEqual({
      project_id: "p1",
      services: [web, { ...api, cwd: "servers" }],
    });
  });

  it("show what was saved elsewhere right behind them", async () => {
    const { host } = await open();
    await userEvent.click(screen.getByRole("button", { name: "Remove web" }));
    host.answer("project_settings_update", () => {
      // Somebody else saved right behind.
      host.answer("project_settings_get", settingsWith([api, db]));
      return settingsWith([api]);
    });
    await save();
    await waitFor(() => expect(rows()).toEqual(["api", "db", "docs"]));
    expect(screen.queryByText("The services changed elsewhere")).toBeNull();
  });

  it("say when they changed elsewhere", async () => {
    const { host } = await open();
    await userEvent.click(screen.getByRole("button", { name: "Remove web" }));
    host.answer("project_settings_get", settingsWith([web]));
    host.commit({ tags: ["projects"] });
    await screen.findByText("The services changed elsewhere");
    expect(rows()).toEqual(["api", "docs"]);
    await userEvent.click(screen.getByRole("button", { name: "Discard" }));
    expect(rows()).toEqual(["web", "api", "docs"]);
    expect(screen.queryByText("Overrides .forge.json")).toBeNull();
  });
});

describe("services that files imply", () => {
  const offers = () => screen.findByRole("region", { name: "Suggested services" });
  const use = async (name: string) => within(await offers()).getByRole("button", { name });

  it("are taken by one click, and nothing is started", async () => {
    const { host, container } = await open();
    const region = await offers();
    expect(within(region).getByText("From package.json")).toBeTruthy();
    expect(await violationsIn(container)).toEqual([]);
    const added = sampleServiceOffers[0]?.service as ServiceDefinition;
    const taken = () => {
      host.answer("project_settings_get", settingsWith([web, api, added]));
      host.answer("project_service_offers", pageOf(sampleServiceOffers.slice(1)));
    };
    host.after("project_services_take", { done: true }, taken, "projects");
    await userEvent.click(await use("Use preview from package.json"));
    await waitFor(() => expect(rows()).toEqual(["web", "api", "preview", "docs"]));
    expect(inputsOf(host, "project_services_take")).toEqual([
      { project_id: "p1", names: ["preview"] },
    ]);
    expect(within(region).getAllByRole("listitem")).toHaveLength(1);
    expect(inputsOf(host, "service_start")).toEqual([]);
  });

  it("wait until what is edited is saved or discarded", async () => {
    await open();
    await userEvent.click(screen.getByRole("button", { name: "Remove web" }));
    const worker = await use("Use worker from Procfile");
    expect(worker.hasAttribute("disabled")).toBe(true);
    screen.getByText("Save or discard your changes to accept a suggestion.");
    await userEvent.click(screen.getByRole("button", { name: "Discard" }));
    expect(worker.hasAttribute("disabled")).toBe(false);
  });

  it("tell why one could not be taken", async () => {
    const { host } = await open();
    host.answer("project_services_take", () =>
      refuse("invalid", "names: `worker` is not a suggested service"),
    );
    await userEvent.click(await use("Use worker from Procfile"));
    await screen.findByText("Could not add the service");
    expect(rows()).toEqual(["web", "api", "docs"]);
  });

  it("are no section where there are none", async () => {
    const host = createSampleHost(null, 12);
    host.answer("project_service_offers", pageOf([]));
    await open(host);
    expect(screen.queryByRole("region", { name: "Suggested services" })).toBeNull();
  });
});
