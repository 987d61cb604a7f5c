import { screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { describe, expect, it } from "vitest";
// Before the tests: as chunks they may take longer than a test has.
import "./ProjectSettingsScreen.tsx";
import "./AddProjectDialog.tsx";
import { inputsOf, openApp, violationsIn } from "#ui/test/renderApp.tsx";
import { pageOf } from "#ui/test/answers.ts";
import { createSampleHost, type SampleHost } from "#ui/test/sampleHost.ts";
import { sampleSettings } from "#ui/test/sampleSettings.ts";

const offers = () => screen.findByRole("region", { name: "Suggested checks" });

/** Checks that are taken are the project's, and are offered no more. */
function willTake(host: SampleHost, ...ci_steps: string[]): void {
  const taken = () => {
    host.answer("project_check_offers", pageOf([]));
    host.answer("project_settings_get", sampleSettings({ review_config: { ci_steps } }));
  };
  host.after("project_checks_take", { done: true }, taken, "projects");
}

describe("checks that files imply", () => {
  it("are put in force by one click, and then are offered no more", async () => {
    const host = createSampleHost(null, 20);
    willTake(host, "cargo test --workspace");
    const { container } = openApp(host, "#/settings/project/p2?tab=checks");
    const region = await offers();
    const lines = within(region).getAllByRole("listitem");
    expect(lines.map(({ firstElementChild: text }) => text?.textContent)).toEqual([
      "cargo fmt --checkFrom Cargo.toml",
      "cargo test --workspaceFrom Cargo.toml",
      "npm run lintFrom package.json",
    ]);
    expect(await violationsIn(container)).toEqual([]);
    const use = within(region).getByRole("button", { name: "Use cargo test --workspace" });
    await userEvent.click(use);
    await waitFor(() => expect(region.isConnected).toBe(false));
    expect(inputsOf(host, "project_checks_take")).toEqual([
      { project_id: "p2", commands: ["cargo test --workspace"] },
    ]);
    await screen.findByDisplayValue("cargo test --workspace");
  });

  it("are all taken at once, too", async () => {
    const host = createSampleHost(null, 20);
    const commands = ["cargo fmt --check", "cargo test --workspace", "npm run lint"];
    willTake(host, ...commands);
    openApp(host, "#/settings/project/p2?tab=checks");
    await userEvent.click(within(await offers()).getByRole("button", { name: "Use all 3" }));
    await waitFor(() =>
      expect(inputsOf(host, "project_checks_take")).toEqual([{ project_id: "p2", commands }]),
    );
    await screen.findByDisplayValue("npm run lint");
  });

  it("wait while other checks are written and not saved", async () => {
    openApp(createSampleHost(null, 20), "#/settings/project/p2?tab=checks");
    const use = within(await offers()).getByRole("button", { name: "Use all 3" });
    await userEvent.click(screen.getByRole("button", { name: "Add check" }));
    await userEvent.type(screen.getByRole("textbox", { name: "Checks, line 1" }), "make");
    expect(use).toHaveProperty("disabled", true);
    await userEvent.click(screen.getByRole("button", { name: "Discard" }));
    await waitFor(() => expect(use).toHaveProperty("disabled", false));
  });

  it("are not offered where there are checks", async () => {
    openApp(createSampleHost(null, 20), "#/settings/project/p1?tab=checks");
    await screen.findByDisplayValue("npm test");
    expect(screen.queryByText("Suggested checks")).toBeNull();
  });

  it("are ticked by whoever adds a project, none by itself", async () => {
    const host = createSampleHost("empty");
    openApp(host, "#/agents");
    await screen.findByRole("heading", { level: 1, name: "Agents" });
    host.dropFiles(["/src/thing"]);
    const group = await screen.findByRole("group", { name: "Suggested checks" });
    const boxes = within(group).getAllByRole("checkbox");
    expect(boxes.map((box) => box.getAttribute("aria-checked"))).toEqual([
      "false",
      "false",
      "false",
    ]);
    await userEvent.click(within(group).getByRole("checkbox", { name: /npm run lint/ }));
    const dialog = screen.getByRole("dialog");
    await userEvent.click(within(dialog).getByRole("button", { name: "Add project" }));
    await waitFor(() =>
      expect(inputsOf(host, "project_create")).toEqual([
        { repo_path: "/src/thing", settings: { review_config: { ci_steps: ["npm run lint"] } } },
      ]),
    );
  });
});
