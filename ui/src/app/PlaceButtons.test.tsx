import { render, screen, waitFor } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { describe, expect, it } from "vitest";
import type { PlaceThere } from "#ui/api/generated.ts";
import { PlaceButtons } from "#ui/app/PlaceButtons.tsx";
import { ToastHost } from "#ui/components/Toast.tsx";
import { PlatformProvider } from "#ui/platform/PlatformContext.tsx";
import { createFakePlatform } from "#ui/platform/fake.ts";

const path = "/home/me/.forge/t1/tree";

function open(machine: string | null, there: PlaceThere | null = null) {
  const platform = createFakePlatform({ task_place: () => ({ path, there }) });
  render(
    <PlatformProvider platform={platform}>
      <ToastHost>
        <PlaceButtons tree={{ path, task_id: "t1", machine_id: machine }} />
      </ToastHost>
    </PlatformProvider>,
  );
  const press = (name: string) => userEvent.click(screen.getByRole("button", { name }));
  return { platform, press };
}

const there = (changes: Partial<PlaceThere> = {}): PlaceThere => ({
  machine: "box",
  destination: "me@box",
  path: "/home/me/.forge/tasks/t1/tree",
  ...changes,
});

describe("opening a worktree", () => {
  it("opens the worktree here without asking anybody", async () => {
    const { platform, press } = open(null);
    for (const name of ["Editor", "Terminal", "Files"]) await press(name);
    expect(platform.opened.map(({ kind }) => kind)).toEqual(["editor", "terminal", "path"]);
    expect(platform.calls).toEqual([]);
  });

  it("opens the worktree here when nothing works on it on its machine", async () => {
    const { platform, press } = open("m1");
    await press("Terminal");
    await waitFor(() => expect(platform.opened).toEqual([{ kind: "terminal", target: path }]));
  });

  it("opens the editor on the machine on which the task works", async () => {
    const { platform, press } = open("m1", there());
    await press("Editor");
    const target = "/home/me/.forge/tasks/t1/tree";
    const opened = [{ kind: "editor", target, destination: "me@box" }];
    await waitFor(() => expect(platform.opened).toEqual(opened));
  });

  it("says what to do where nothing can be opened there", async () => {
    const { platform, press } = open("m1", there());
    await press("Terminal");
    expect(await screen.findByText("This task runs on box")).toBeTruthy();
    expect(await screen.findByText(/Sign in with `ssh me@box`/)).toBeTruthy();
    await press("Files");
    expect(await screen.findByText(/Open the editor to see its files there/)).toBeTruthy();
    expect(platform.opened).toEqual([]);
  });

  it("says where the files are that no editor reaches, in a container or on a cluster", async () => {
    const { platform, press } = open("m1", there({ destination: null }));
    for (const name of ["Editor", "Terminal", "Files"]) await press(name);
    expect(
      (await screen.findAllByText(/Its files are in a container or on a cluster/)).length,
    ).toBeGreaterThan(0);
    expect(platform.opened).toEqual([]);
  });

  it("says that the machine does not answer", async () => {
    const { platform, press } = open("m1", there({ path: null }));
    await press("Editor");
    expect(
      await screen.findByText("Could not open the editor: box is not responding"),
    ).toBeTruthy();
    expect(platform.opened).toEqual([]);
  });
});
