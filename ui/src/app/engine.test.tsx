import { act, render, screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { QueryClientProvider } from "@tanstack/react-query";
import { afterEach, describe, expect, it } from "vitest";
import { createQueryClient } from "#ui/api/operations.tsx";
import { ToastHost } from "#ui/components/Toast.tsx";
import { followEngine, openEngine } from "#ui/domain/engine/engine.ts";
import AddProjectDialog from "#ui/features/projects/AddProjectDialog.tsx";
import { PlatformProvider } from "#ui/platform/PlatformContext.tsx";
import { createFakePlatform } from "#ui/platform/fake.ts";
import { ContactBanner } from "./ContactBanner.tsx";
import ConnectDialog from "./ConnectDialog.tsx";
import { followFileDrops } from "./fileDrops.ts";
import { PlaceButtons } from "./PlaceButtons.tsx";

let drop = () => {};
afterEach(() => drop());

/** Shows something in a window on the engine of a computer, null for this one. */
async function shown(
  children: React.ReactNode,
  host: string | null,
  { refusal = null, answers = {} }: { refusal?: unknown; answers?: object } = {},
) {
  const platform = createFakePlatform(answers as never, { host, known: ["far", "box"], refusal });
  drop = followEngine(platform);
  await act(() => Promise.resolve());
  render(
    <PlatformProvider platform={platform}>
      <QueryClientProvider client={createQueryClient()}>
        <ToastHost>{children}</ToastHost>
      </QueryClientProvider>
    </PlatformProvider>,
  );
  return platform;
}

const lost = {
  state: "unreachable",
  since: Date.UTC(2026, 0, 1, 12, 0),
  message: "Could not stay connected to the engine on far: the connection ended.",
  remedy: "Forge tries again by itself.",
} as const;

describe("the engine of another computer", () => {
  it("is said to be unreachable until it answers, and is tried at once when asked", async () => {
    const platform = await shown(<ContactBanner />, "far");
    expect(screen.queryByRole("alert")).toBeNull();
    act(() => platform.contact(lost));
    const banner = await screen.findByRole("alert", {
      name: /^far has been unreachable since .*Trying/,
    });
    expect(banner.textContent).toContain("the connection ended");
    await userEvent.click(screen.getByRole("button", { name: "Try now" }));
    expect(platform.reconnects()).toBe(1);
    act(() => platform.contact({ state: "live" }));
    await waitFor(() => expect(screen.queryByRole("alert")).toBeNull());
  });

  it("has its folders chosen there", async () => {
    const folder = (name: string, repository: boolean) => ({
      name,
      path: `/home/far/${name}`,
      is_repository: repository,
    });
    const listing = (path: string) => ({
      path,
      parent: "/home",
      is_repository: false,
      truncated: false,
      folders: path === "/home/far" ? [folder("code", false)] : [folder("code/shop", true)],
    });
    const answers = {
      folder_list: ({ path }: { path?: string }) => listing(path ?? "/home/far"),
      check_offers: () => ({ items: [], next_cursor: null }),
    };
    const platform = await shown(<AddProjectDialog onClose={() => {}} />, "far", { answers });
    await userEvent.click(screen.getByRole("button", { name: /Choose/ }));
    await userEvent.click(await screen.findByRole("button", { name: "code" }));
    await userEvent.click(await screen.findByRole("button", { name: "code/shop" }));
    expect(screen.getByDisplayValue("/home/far/code/shop")).toBeTruthy();
    const asked = platform.calls.filter(({ op }) => op === "folder_list");
    expect(asked.map(({ input }) => input)).toEqual([{}, { path: "/home/far/code" }]);
  });

  it("has its worktrees opened by the editor, and says how to reach them otherwise", async () => {
    const tree = { path: "/home/far/t", task_id: "t1", machine_id: null };
    const platform = await shown(<PlaceButtons tree={tree} />, "far");
    await userEvent.click(screen.getByRole("button", { name: "Editor" }));
    const opened = [{ kind: "editor", target: "/home/far/t", destination: "far" }];
    await waitFor(() => expect(platform.opened).toEqual(opened));
    await userEvent.click(screen.getByRole("button", { name: "Terminal" }));
    expect(await screen.findByText("Sign in with `ssh far`, then go to /home/far/t.")).toBeTruthy();
    expect(platform.opened).toHaveLength(1);
  });

  it("takes no files of this computer", async () => {
    const platform = await shown(null, "far");
    const end = followFileDrops(platform);
    act(() => platform.dropFiles(["/home/me/a.png"]));
    expect(
      await screen.findByText(/Could not use the files: they are on this computer/),
    ).toBeTruthy();
    end?.();
  });
});

describe("connecting to another computer", () => {
  it("opens a window of its own", async () => {
    let closed = false;
    const platform = await shown(<ConnectDialog onClose={() => (closed = true)} />, null);
    await userEvent.type(screen.getByRole("textbox", { name: "Computer" }), " me@far ");
    await userEvent.click(screen.getByRole("button", { name: "Connect" }));
    await waitFor(() => expect(closed).toBe(true));
    expect(platform.connected).toEqual(["me@far"]);
  });

  it("says why the computer cannot be used, and leaves the dialog open", async () => {
    const refusal = {
      code: "other_version",
      message: "Could not use Forge on far: it is version 0.0.1, and this is version 0.1.0.",
      hints: ["Install the same version of Forge."],
      details: null,
    };
    const platform = await shown(<ConnectDialog onClose={() => {}} />, null, { refusal });
    await userEvent.type(screen.getByRole("textbox", { name: "Computer" }), "far{Enter}");
    const said = await screen.findByRole("alert", { name: "Could not connect to far" });
    expect(said.textContent).toContain("it is version 0.0.1");
    act(() => openEngine(platform, "far"));
    await waitFor(() => expect(screen.getAllByText("Could not connect to far")).toHaveLength(2));
    expect(platform.connected).toEqual([]);
  });
});
