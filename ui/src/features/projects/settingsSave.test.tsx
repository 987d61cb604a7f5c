import { act, fireEvent, screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it } from "vitest";
import "./ProjectSettingsScreen.tsx"; // Before the tests: as a chunk it may take longer than a test has.
import { drafts } from "#ui/draft/drafts.ts";
import { refuseInput } from "#ui/test/answers.ts";
import { inputsOf, openApp, violationsIn } from "#ui/test/renderApp.tsx";
import { sampleProject } from "#ui/test/sample.ts";
import { sampleStanding } from "#ui/test/sampleReview.ts";
import { createSampleHost, type SampleHost } from "#ui/test/sampleHost.ts";
import { sampleOwn, sampleSettings } from "#ui/test/sampleSettings.ts";

const updates = (host: SampleHost) => inputsOf(host, "project_settings_update");
const agents = () => screen.findByRole<HTMLInputElement>("textbox", { name: "Concurrent agents" });
const bar = () => screen.findByRole("region", { name: "Unsaved changes" });

async function typed(text: string) {
  const field = await agents();
  await userEvent.clear(field);
  await userEvent.type(field, text);
}

function open(tab = "automation") {
  const host = createSampleHost(null, 20);
  const { container } = openApp(host, `#/settings/project/p1?tab=${tab}`);
  return { host, container };
}

/** Somebody else saves settings of the project. */
function saveElsewhere(host: SampleHost, change: object) {
  host.answer("project_settings_get", sampleSettings({ ...sampleOwn, ...change }));
  act(() => host.commit({ project_id: "p1", tags: ["projects", "project:p1"] }));
}

it("keeps what is written over other pages, marks its page, and saves all of it by Ctrl+S", async () => {
  const { host, container } = open();
  await typed("7");
  await userEvent.click(screen.getByRole("tab", { name: "Checks" }));
  await userEvent.click(await screen.findByRole("switch", { name: /^Reuse passed checks/ }));
  expect(screen.getByRole("tab", { name: "Automation (unsaved)" })).toBeTruthy();
  expect(screen.getByRole("tab", { name: "Checks (unsaved)" })).toBeTruthy();
  expect(await violationsIn(container)).toEqual([]);
  await userEvent.keyboard("{Control>}s{/Control}");
  await waitFor(() => expect(updates(host)).toHaveLength(1));
  expect(updates(host)[0]).toMatchObject({ project_id: "p1", max_concurrent: 7 });
  expect(updates(host)[0]).toHaveProperty("review_config.reuse_passes");
});

it("gives everything up by Discard, and saves nothing", async () => {
  const { host } = open();
  const before = (await agents()).value;
  await typed("7");
  await userEvent.click(within(await bar()).getByRole("button", { name: "Discard" }));
  await waitFor(() => expect(screen.queryByText("Unsaved changes")).toBeNull());
  expect((await agents()).value).toBe(before);
  expect(updates(host)).toEqual([]);
});

it("takes over what changed elsewhere beside what is written", async () => {
  const { host } = open();
  await typed("7");
  saveElsewhere(host, { redact: ["cust-\\d+"] });
  await userEvent.click(within(await bar()).getByRole("button", { name: "Save" }));
  await waitFor(() => expect(updates(host)).toEqual([{ project_id: "p1", max_concurrent: 7 }]));
  expect(screen.queryByText("The settings changed elsewhere")).toBeNull();
});

it("asks whose is kept where the same setting changed elsewhere", async () => {
  const { host } = open();
  await typed("7");
  saveElsewhere(host, { max_concurrent: 9 });
  await screen.findByText("The settings changed elsewhere");
  await userEvent.click(within(await bar()).getByRole("button", { name: "Save" }));
  expect(updates(host)).toEqual([]);
  await userEvent.click(screen.getByRole("button", { name: "Keep my draft" }));
  await userEvent.click(within(await bar()).getByRole("button", { name: "Save" }));
  await waitFor(() => expect(updates(host)).toEqual([{ project_id: "p1", max_concurrent: 7 }]));
});

/** A write that is refused with a finding at a field. */
const refuseWrite = (
  host: SampleHost,
  op: "project_update" | "project_settings_update",
  path: string,
  finding: string,
) => host.answer(op, () => refuseInput("failed to save", path, finding));

const goTo = (name: string) =>
  userEvent.click(screen.getByRole("tab", { name: new RegExp(`^${name}`) }));
const saveInBar = async () =>
  userEvent.click(within(await bar()).getByRole("button", { name: "Save" }));

it("pauses a project at once, and saves its name with the settings", async () => {
  const { host } = open("general");
  await userEvent.click(await screen.findByRole("switch", { name: /^Pause/ }));
  await waitFor(() => expect(inputsOf(host, "project_pause")).toEqual([{ project_id: "p1" }]));
  expect(screen.queryByRole("region", { name: "Unsaved changes" })).toBeNull();
  await userEvent.type(screen.getByRole("textbox", { name: "Name" }), " 2");
  await saveInBar();
  await waitFor(() =>
    expect(inputsOf(host, "project_update")).toEqual([{ project_id: "p1", name: "Website 2" }]),
  );
});

it("says on every page that a save was refused, and leads to the field", async () => {
  const { host } = open();
  refuseWrite(host, "project_settings_update", "max_concurrent", "must be 1 to 50");
  await typed("99");
  await goTo("Notifications");
  await saveInBar();
  await waitFor(async () =>
    expect((await bar()).textContent).toContain("Could not save: 1 field is invalid."),
  );
  await userEvent.click(within(await bar()).getByRole("button", { name: "Open Automation" }));
  await screen.findByText("must be 1 to 50");
});

it("says on every page that a project's name was refused", async () => {
  const { host } = open("general");
  refuseWrite(host, "project_update", "name", "is taken");
  await userEvent.type(await screen.findByRole("textbox", { name: "Name" }), " 2");
  await goTo("Pull requests");
  await userEvent.keyboard("{Control>}s{/Control}");
  await waitFor(async () =>
    expect((await bar()).textContent).toContain("Could not save: 1 field is invalid."),
  );
  expect(screen.queryByText("is taken")).toBeNull();
  await userEvent.click(within(await bar()).getByRole("button", { name: "Open General" }));
  await screen.findByText("is taken");
});

it("keeps what was refused when the other half was saved", async () => {
  const { host } = open("general");
  refuseWrite(host, "project_settings_update", "max_concurrent", "must be 1 to 50");
  host.after("project_update", sampleProject({ name: "Website 2" }), () => {
    host.answer("project_get", sampleProject({ name: "Website 2" }));
  });
  await userEvent.type(await screen.findByRole("textbox", { name: "Name" }), " 2");
  await goTo("Automation");
  await typed("99");
  await saveInBar();
  await screen.findByText("must be 1 to 50");
  expect((await agents()).value).toBe("99");
  expect(screen.getByRole("tab", { name: "General" })).toBeTruthy();
  expect(screen.queryByText("The settings changed elsewhere")).toBeNull();
});

it("leaves what others changed in the project when a draft of its name is saved", async () => {
  const { host } = open("general");
  await userEvent.type(await screen.findByRole("textbox", { name: "Name" }), " 2");
  host.answer("project_get", sampleProject({ default_branch: "trunk", paused: true }));
  act(() => host.commit({ project_id: "p1", tags: ["projects", "project:p1"] }));
  await waitFor(() =>
    expect(screen.getByRole<HTMLInputElement>("textbox", { name: "Default branch" }).value).toBe(
      "trunk",
    ),
  );
  expect(screen.queryByText("The settings changed elsewhere")).toBeNull();
  await saveInBar();
  await waitFor(() =>
    expect(inputsOf(host, "project_update")).toEqual([{ project_id: "p1", name: "Website 2" }]),
  );
  expect(inputsOf(host, "project_resume")).toEqual([]);
});

it("leaves undo in a field to the field, and undoes the last edit outside of fields", async () => {
  open();
  const before = (await agents()).value;
  await typed("7");
  await goTo("General");
  const name = await screen.findByRole("textbox", { name: "Name" });
  await userEvent.type(name, " 2");
  const isTaken = !fireEvent.keyDown(name, { key: "z", ctrlKey: true });
  expect(isTaken).toBe(false);
  expect(screen.getByRole("tab", { name: "Automation (unsaved)" })).toBeTruthy();
  fireEvent.keyDown(screen.getByRole("button", { name: "Save" }), { key: "z", ctrlKey: true });
  expect((name as HTMLInputElement).value).toBe("Website");
  expect(screen.getByRole("tab", { name: "Automation (unsaved)" })).toBeTruthy();
  fireEvent.keyDown(screen.getByRole("button", { name: "Save" }), { key: "z", ctrlKey: true });
  fireEvent.keyDown(document.body, { key: "z", ctrlKey: true });
  await waitFor(() => expect(screen.queryByText("Unsaved changes")).toBeNull());
  await goTo("Automation");
  expect((await agents()).value).toBe(before);
});

it("undoes edits of neighbours one by one", async () => {
  open("innerLoop");
  const box = (name: string) => screen.findByRole("switch", { name: new RegExp(`^${name}`) });
  const first = await box("Allow races");
  const second = await box("Use reviewer scores");
  const were = [first, second].map((each) => each.getAttribute("aria-checked"));
  await userEvent.click(first);
  await userEvent.click(second);
  fireEvent.keyDown(document.body, { key: "z", ctrlKey: true });
  expect(second.getAttribute("aria-checked")).toBe(were[1]);
  expect(first.getAttribute("aria-checked")).not.toBe(were[0]);
});

it("leaves its keys to a question", async () => {
  const { host } = open();
  await typed("7");
  await goTo("General");
  await userEvent.click(await screen.findByRole("button", { name: "Delete project" }));
  const dialog = await screen.findByRole("alertdialog");
  const box = within(dialog).getByRole("textbox");
  fireEvent.keyDown(box, { key: "s", ctrlKey: true });
  fireEvent.keyDown(within(dialog).getByRole("button", { name: "Delete project" }), {
    key: "z",
    ctrlKey: true,
  });
  expect(updates(host)).toEqual([]);
  expect(drafts.getState().drafts["settings:p1"]?.text).toContain('"max_concurrent":7');
});

it("says which page holds what cannot be saved, and saves none of it from another", async () => {
  const { host } = open("pullRequests");
  await userEvent.type(await screen.findByRole("textbox", { name: "Owner" }), "acme");
  const repository = screen.getByRole("textbox", { name: "Repository" });
  await userEvent.clear(repository);
  expect(repository.getAttribute("aria-invalid")).toBe("true");
  await goTo("Notifications");
  expect((await bar()).textContent).toContain("1 field is invalid.");
  expect(within(await bar()).getByRole("button", { name: "Save" })).toHaveProperty(
    "disabled",
    true,
  );
  await userEvent.keyboard("{Control>}s{/Control}");
  expect(updates(host)).toEqual([]);
  await userEvent.click(within(await bar()).getByRole("button", { name: "Open Pull requests" }));
  await screen.findByRole("textbox", { name: "Repository" });
});

it("keeps the text and the focus of the code host when the git remotes are read later", async () => {
  const { host } = open("pullRequests");
  await screen.findByRole("group", { name: "Status" });
  const owner = await screen.findByRole<HTMLInputElement>("textbox", { name: "Owner" });
  await userEvent.clear(owner);
  await userEvent.type(owner, "mine");
  host.answer("project_code_host", sampleStanding({ configured: false }));
  act(() => host.commit({ project_id: "p1", tags: ["projects", "project:p1"] }));
  await waitFor(() => expect(inputsOf(host, "project_code_host").length).toBeGreaterThan(1));
  await userEvent.keyboard("d");
  expect(owner.isConnected).toBe(true);
  expect(owner.value).toBe("mined");
});

it("takes an emptied code host for none", async () => {
  open("pullRequests");
  await screen.findByRole("group", { name: "Status" });
  const owner = await screen.findByRole("textbox", { name: "Owner" });
  await userEvent.clear(owner);
  await userEvent.clear(screen.getByRole("textbox", { name: "Repository" }));
  await userEvent.type(owner, "a");
  await screen.findByText("Required");
  await userEvent.clear(owner);
  await waitFor(() => expect(screen.queryByText("Required")).toBeNull());
});

it("empties the labels of machines by Discard", async () => {
  open("setup");
  await userEvent.click(await screen.findByRole("combobox", { name: "Runs on" }));
  await userEvent.click(await screen.findByRole("option", { name: /label/ }));
  await userEvent.type(
    await screen.findByRole("textbox", { name: "Labels or machine names" }),
    "gpu",
  );
  await userEvent.click(within(await bar()).getByRole("button", { name: "Discard" }));
  await waitFor(() => expect(screen.queryByDisplayValue("gpu")).toBeNull());
});

it("says that a draft is left with the screen, and not with a page of it", async () => {
  open();
  await typed("7");
  await goTo("Notifications");
  await goTo("Workflow");
  expect(screen.queryByText("The settings have unsaved changes")).toBeNull();
  act(() => {
    location.hash = "#/settings/project/p2";
  });
  await screen.findByText("The settings have unsaved changes");
});

it("forgets the drafts of a project that is deleted", async () => {
  const { host } = open();
  host.after("project_delete", { done: true }, () => undefined);
  await typed("7");
  await goTo("General");
  await userEvent.click(await screen.findByRole("button", { name: "Delete project" }));
  const dialog = await screen.findByRole("alertdialog");
  await userEvent.type(within(dialog).getByRole("textbox"), "Website");
  await userEvent.click(within(dialog).getByRole("button", { name: "Delete project" }));
  await waitFor(() => expect(drafts.getState().drafts["settings:p1"]).toBeUndefined());
  expect(screen.queryByText("The settings have unsaved changes")).toBeNull();
});
