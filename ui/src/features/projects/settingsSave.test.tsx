import { act, screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it } from "vitest";
import "./ProjectSettingsScreen.tsx"; // Before the tests: as a chunk it may take longer than a test has.
import { inputsOf, openApp, violationsIn } from "#ui/test/renderApp.tsx";
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

it("saves a project's name and its pause in the same way", async () => {
  const { host } = open("general");
  const name = await screen.findByRole("textbox", { name: "Name" });
  await userEvent.type(name, " 2");
  await userEvent.click(screen.getByRole("switch", { name: /^Pause/ }));
  expect(inputsOf(host, "project_pause")).toEqual([]);
  await userEvent.click(within(await bar()).getByRole("button", { name: "Save" }));
  await waitFor(() =>
    expect(inputsOf(host, "project_update")).toEqual([{ project_id: "p1", name: "Website 2" }]),
  );
  await waitFor(() => expect(inputsOf(host, "project_pause")).toEqual([{ project_id: "p1" }]));
});
