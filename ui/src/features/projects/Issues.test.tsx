import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { describe, expect, it } from "vitest";
import "./ProjectSettingsScreen.tsx"; // Before the tests: as a chunk it may take longer than a test has.
import { refuse } from "#ui/test/answers.ts";
import { inputsOf, openApp, violationsIn } from "#ui/test/renderApp.tsx";
import { createSampleHost, type SampleHost } from "#ui/test/sampleHost.ts";
import { sampleStanding } from "#ui/test/sampleReview.ts";
import { sampleOwn, sampleSettings } from "#ui/test/sampleSettings.ts";

async function open(issues: object | null = null, prepare = (_host: SampleHost) => {}) {
  const host = createSampleHost(null, 20);
  host.answer("project_code_host", sampleStanding());
  if (issues) host.answer("project_settings_get", sampleSettings({ ...sampleOwn, issues }));
  prepare(host);
  const { container } = openApp(host, "#/settings/project/p1?tab=issues");
  await screen.findByRole("switch", { name: "Import automatically" });
  return { host, container };
}

const rule = () => screen.findByRole("switch", { name: "Import automatically" });
const field = (name: string) => screen.findByRole<HTMLInputElement>("textbox", { name });
const save = async () => userEvent.click(await screen.findByRole("button", { name: "Save" }));
const updates = (host: SampleHost) => inputsOf(host, "project_settings_update");

function refuseAt(host: SampleHost, ...findings: (readonly [path: string, message: string])[]) {
  host.answer("project_settings_update", () =>
    refuse("invalid", "the input is not valid", {
      findings: findings.map(([path, message]) => ({ path, message })),
    }),
  );
}

describe("issues of a project", () => {
  it("are neither imported nor written to until it is switched on", async () => {
    const { container } = await open();
    const switches = screen.getAllByRole("switch");
    expect(switches).toHaveLength(4);
    expect(switches.filter(({ ariaChecked }) => ariaChecked === "true")).toEqual([]);
    expect(screen.queryByRole("textbox", { name: "Labels" })).toBeNull();
    const labels = await screen.findByRole("group", { name: "Labels by state" });
    expect(
      within(labels)
        .getAllByRole<HTMLInputElement>("textbox")
        .filter(({ value }) => value !== ""),
    ).toEqual([]);
    expect(await violationsIn(container)).toEqual([]);
  });

  it("are imported by a rule, which has a label before it is saved", async () => {
    const { host, container } = await open();
    await userEvent.click(await rule());
    expect(screen.getByText("Enter at least one label.")).toBeTruthy();
    expect((await screen.findByRole("button", { name: "Save" })).hasAttribute("disabled")).toBe(
      true,
    );
    await userEvent.type(await field("Labels"), "agent, ready");
    await userEvent.click(screen.getByRole("combobox", { name: "State for new tasks" }));
    const options = await screen.findAllByRole("option");
    expect(options.map(({ textContent }) => textContent)).toEqual(["Backlog", "Todo"]);
    await userEvent.click(screen.getByRole("option", { name: "Todo" }));
    await userEvent.type(await field("Check every"), "3x0");
    expect(await violationsIn(container)).toEqual([]);
    await userEvent.keyboard("{Enter}");
    await waitFor(() =>
      expect(updates(host)).toEqual([
        {
          project_id: "p1",
          issues: { rule: { labels: ["agent", "ready"], into: "todo", every_minutes: 30 } },
        },
      ]),
    );
  });

  it("are not imported any more when the rule is switched off; on again it is as it was", async () => {
    const saved = { labels: ["agent"], into: "gone", every_minutes: 30 };
    const { host } = await open({ rule: saved });
    expect((await field("Labels")).value).toBe("agent");
    // A state that the workflow does not have any more is still told.
    expect(screen.getByRole("combobox", { name: "State for new tasks" }).textContent).toBe("gone");
    await userEvent.click(await rule());
    expect(screen.queryByRole("textbox", { name: "Labels" })).toBeNull();
    await userEvent.click(await rule());
    expect((await field("Labels")).value).toBe("agent");
    expect(screen.queryByRole("button", { name: "Save" })).toBeNull();
    await userEvent.click(await rule());
    await save();
    expect(updates(host)).toEqual([{ project_id: "p1", issues: { rule: null } }]);
  });

  it("that cannot be imported so say why at the field", async () => {
    const { host } = await open({ rule: { labels: ["agent"] } });
    refuseAt(
      host,
      ["issues.rule.labels[0]", "must be a label without commas"],
      ["issues.rule.every_minutes", "must be 5 to 1440"],
    );
    const minutes = await field("Check every");
    await userEvent.type(minutes, "1");
    await save();
    await screen.findByText("must be 5 to 1440");
    expect(minutes.getAttribute("aria-invalid")).toBe("true");
    expect((await field("Labels")).getAttribute("aria-invalid")).toBe("true");
    expect(screen.getByText(/2 fields are invalid/)).toBeTruthy();
  });

  it.each([
    ["Comment at the start", "comment_start"],
    ["Comment when done", "comment_done"],
    ["Close when done", "close_done"],
  ])("are written to by %s", async (name, key) => {
    const { host } = await open();
    await userEvent.click(screen.getByRole("switch", { name }));
    await save();
    expect(updates(host)).toEqual([{ project_id: "p1", issues: { reports: { [key]: true } } }]);
  });

  it("get labels by state; a cleared one is taken away, also that of a state that is gone", async () => {
    const { host } = await open({
      reports: { labels: { in_progress: "doing", review: "in review", old: "stale" } },
    });
    const old = await field("Label for old");
    expect(old.closest("li")?.textContent).toContain("Not in the workflow");
    await userEvent.clear(old);
    await userEvent.type(await field("Label for Done"), "done ");
    await userEvent.type(await field("Label for Review"), "!{Enter}");
    await waitFor(() =>
      expect(updates(host)).toEqual([
        {
          project_id: "p1",
          issues: { reports: { labels: { old: null, done: "done", review: "in review!" } } },
        },
      ]),
    );
  });

  it("whose label is refused say why at its state", async () => {
    const { host } = await open();
    refuseAt(host, ["issues.reports.labels.done", "must be a label without commas, not `a,b`"]);
    const done = await field("Label for Done");
    await userEvent.type(done, "a,b");
    await save();
    await screen.findByText(/must be a label without commas/);
    expect(done.getAttribute("aria-invalid")).toBe("true");
    expect((await field("Label for Todo")).getAttribute("aria-invalid")).not.toBe("true");
  });

  it("name their code host and lead to where it is set up", async () => {
    await open();
    expect(await screen.findByText(/Issues come from GitHub acme\/website\./)).toBeTruthy();
    await userEvent.click(screen.getByRole("link", { name: "Open code host settings" }));
    await screen.findByRole("combobox", { name: "Merge method" });
  });

  it.each([
    ["No code host for this project", sampleStanding({ host: null, configured: false })],
    [
      "Not ready",
      sampleStanding({ token: null, problem: "There is no token.", remedy: "Add it." }),
    ],
  ])("say %s, and where that is mended", async (title, standing) => {
    await open(null, (host) => host.answer("project_code_host", standing));
    const alert = await screen.findByRole("alert", { name: title });
    expect(within(alert).getByRole("link").getAttribute("href")).toBe(
      "#/settings/project/p1?tab=pullRequests",
    );
  });
});
