import { QueryClientProvider } from "@tanstack/react-query";
import { render, screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { beforeEach, describe, expect, it } from "vitest";
import { followChanges } from "#ui/api/changes.ts";
import { createQueryClient } from "#ui/api/operations.tsx";
import type { HostStanding } from "#ui/api/generated.ts";
import { ToastHost } from "#ui/components/Toast.tsx";
import { TooltipProvider } from "#ui/components/Tooltip.tsx";
import { createFakePlatform } from "#ui/platform/fake.ts";
import { PlatformProvider } from "#ui/platform/PlatformContext.tsx";
import { sampleProject } from "#ui/test/sample.ts";
import { sampleCodeHost, sampleStanding } from "#ui/test/sampleReview.ts";
import { violationsIn } from "#ui/test/violations.ts";
import ProjectSettingsScreen from "./ProjectSettingsScreen.tsx";

type Answers = Record<string, (input: never) => unknown>;

const refuse =
  (code: string, message: string, details: unknown = null) =>
  () => {
    throw { code, message, hints: [], details };
  };

function show(tab: string, standing: HostStanding, settings: object = {}, more: Answers = {}) {
  location.hash = `#/settings/project/p1?tab=${tab}`;
  const view = { settings, own: settings };
  const platform = createFakePlatform({
    project_get: () => sampleProject(),
    project_settings_get: () => view,
    project_settings_update: () => view,
    project_code_host: () => standing,
    project_update: () => sampleProject({ work_mode: "pull_request" }),
    code_host_token_put: () => ({ done: true }),
    code_host_token_forget: () => ({ done: true }),
    ...more,
  });
  const client = createQueryClient();
  followChanges(client, platform.onChanges, (run) => run());
  const shown = render(
    <PlatformProvider platform={platform}>
      <QueryClientProvider client={client}>
        <TooltipProvider>
          <ToastHost>
            <ProjectSettingsScreen />
          </ToastHost>
        </TooltipProvider>
      </QueryClientProvider>
    </PlatformProvider>,
  );
  const sent = (op: string) =>
    platform.calls.filter((call) => call.op === op).map(({ input }) => input);
  return { platform, sent, user: userEvent.setup(), ...shown };
}

const guessed = sampleStanding({
  configured: false,
  token: null,
  reachable: false,
  problem: "There is no token for github.com.",
  remedy: "Keep one here.",
});

beforeEach(() => {
  location.hash = "";
});

describe("pull requests of a project", () => {
  it("are chosen instead of a direct merge", async () => {
    const { user, sent } = show("pullRequests", guessed);
    await user.click(await screen.findByRole("combobox", { name: "Merge method" }));
    await user.click(await screen.findByRole("option", { name: /Pull request/ }));
    await user.click(screen.getByRole("button", { name: "Save" }));
    await waitFor(() =>
      expect(sent("project_update")).toEqual([{ project_id: "p1", work_mode: "pull_request" }]),
    );
  });

  it("say why the way was not changed", async () => {
    const { user } = show(
      "pullRequests",
      guessed,
      {},
      {
        project_update: refuse("invalid", "failed to change the project: no code host"),
      },
    );
    await user.click(await screen.findByRole("combobox", { name: "Merge method" }));
    await user.click(await screen.findByRole("option", { name: /Pull request/ }));
    await user.click(screen.getByRole("button", { name: "Save" }));
    expect(await screen.findByText(/no code host/)).toBeTruthy();
  });

  it("take over what the git remotes name with one press", async () => {
    const { user, sent, container } = show("pullRequests", guessed);
    const found = await screen.findByRole("status", { name: "Found in the git remotes" });
    expect(found.textContent).toContain("GitHub: acme/website, pushed to origin.");
    expect(screen.getByLabelText<HTMLInputElement>("Owner").value).toBe("acme");
    expect(await violationsIn(container, "region")).toEqual([]);
    await user.click(within(found).getByRole("button", { name: "Use code host" }));
    await user.click(screen.getByRole("button", { name: "Save" }));
    await waitFor(() =>
      expect(sent("project_settings_update")).toEqual([
        // No address of its own: the usual one.
        { project_id: "p1", code_host: { ...sampleCodeHost, base_url: undefined } },
      ]),
    );
  });

  it("go to a host of one's own, with the findings at their fields", async () => {
    const { user, sent } = show(
      "pullRequests",
      sampleStanding(),
      { code_host: sampleCodeHost },
      {
        project_settings_update: refuse("invalid", "failed to change the settings", {
          findings: [{ path: "code_host.base_url", message: "is no address" }],
        }),
      },
    );
    const address = await screen.findByLabelText("Address");
    expect(screen.queryByRole("button", { name: "Save" })).toBeNull();
    await user.type(address, "nowhere");
    await user.click(screen.getByRole("button", { name: "Save" }));
    expect(sent("project_settings_update")).toEqual([
      { project_id: "p1", code_host: { base_url: "nowhere" } },
    ]);
    expect(await screen.findByText("is no address")).toBeTruthy();
  });

  it("go back to what the git remotes say", async () => {
    const { user, sent } = show("pullRequests", sampleStanding(), { code_host: sampleCodeHost });
    await user.click(await screen.findByRole("button", { name: "Use git remotes" }));
    await user.click(screen.getByRole("button", { name: "Save" }));
    expect(sent("project_settings_update")).toEqual([{ project_id: "p1", code_host: null }]);
  });

  it("keep a token that is never shown again, and forget it when asked twice", async () => {
    const { user, sent } = show("pullRequests", sampleStanding(), { code_host: sampleCodeHost });
    expect(await screen.findByText("Token from the system keychain")).toBeTruthy();
    expect(screen.getByText(/Ready/)).toBeTruthy();
    const field = screen.getByLabelText<HTMLInputElement>("Token");
    expect(field.type).toBe("password");
    expect(field.value).toBe("");
    await user.type(field, "secret-1");
    await user.click(screen.getByRole("button", { name: "Save token" }));
    await waitFor(() =>
      expect(sent("code_host_token_put")).toEqual([{ project_id: "p1", token: "secret-1" }]),
    );
    await waitFor(() => expect(field.value).toBe(""));
    await user.click(screen.getByRole("button", { name: "Remove token" }));
    expect(sent("code_host_token_forget")).toEqual([]);
    const dialog = await screen.findByRole("alertdialog");
    await user.click(within(dialog).getByRole("button", { name: "Remove token" }));
    await waitFor(() => expect(sent("code_host_token_forget")).toEqual([{ project_id: "p1" }]));
  });

  it("keep what was typed when the keychain refuses", async () => {
    const { user } = show(
      "pullRequests",
      guessed,
      {},
      {
        code_host_token_put: refuse("internal", "failed to keep the token: the keychain is locked"),
      },
    );
    const field = await screen.findByLabelText<HTMLInputElement>("Token");
    await user.type(field, "secret-1");
    await user.click(screen.getByRole("button", { name: "Save token" }));
    expect(await screen.findByText(/the keychain is locked/)).toBeTruthy();
    expect(field.value).toBe("secret-1");
  });

  it("tell what is in the way and what to do, and ask again", async () => {
    const { user, sent } = show("pullRequests", guessed);
    const standing = await screen.findByRole("group", { name: "Status" });
    expect(standing.textContent).toContain("There is no token for github.com. Keep one here.");
    expect(within(standing).getByText("No token found.")).toBeTruthy();
    expect(within(standing).queryByRole("button", { name: "Remove token" })).toBeNull();
    await user.click(within(standing).getByRole("button", { name: "Check again" }));
    await waitFor(() => expect(sent("project_code_host")).toHaveLength(2));
  });

  it("can be set up where no remote names a host, and say when the host was not asked", async () => {
    const { user, unmount } = show(
      "pullRequests",
      sampleStanding({ host: null, configured: false }),
    );
    expect(await screen.findByText(/none was found in the git remotes/)).toBeTruthy();
    // Half a host is none.
    await user.type(screen.getByLabelText("Owner"), "acme");
    expect(screen.getByRole("button", { name: "Save" }).hasAttribute("disabled")).toBe(true);
    expect(screen.getByText("Required")).toBeTruthy();
    expect(screen.queryByLabelText("Token")).toBeNull();
    unmount();
    show("pullRequests", guessed, {}, { project_code_host: refuse("internal", "failed to ask") });
    expect(await screen.findByText("Could not reach the code host")).toBeTruthy();
  });
});

describe("reviews of a project", () => {
  it("reuse passes and tell the auditor what to look at", async () => {
    const { user, sent } = show("checks", guessed, {
      review_config: { reuse_passes: false, review_prompt: "Mind the licences." },
    });
    await user.click(await screen.findByRole("switch", { name: /Reuse passed checks/ }));
    const wishes = screen.getByLabelText<HTMLTextAreaElement>("Reviewer instructions");
    expect(wishes.value).toBe("Mind the licences.");
    await user.clear(wishes);
    await user.type(wishes, "No new dependency.");
    expect(sent("project_settings_update")).toEqual([]);
    await user.click(screen.getByRole("button", { name: "Save" }));
    expect(sent("project_settings_update")).toEqual([
      {
        project_id: "p1",
        review_config: { reuse_passes: true, review_prompt: "No new dependency." },
      },
    ]);
  });
});
