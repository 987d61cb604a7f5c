import { act, screen, waitFor, within } from "@testing-library/react";
import { useEffect, useState } from "react";
import { beforeEach, describe, expect, it, vi } from "vitest";
import type { Terminal } from "#ui/api/generated.ts";
import { someTask, someWorkspace } from "../testing/fixtures.ts";
import type { TerminalScreenProps } from "./TerminalScreen.tsx";
import { layOut, refuse, show, violations, type Answers } from "../testing/show.tsx";

// jsdom has no place to draw a terminal: the journey of the desktop draws it.
vi.mock("./TerminalScreen.tsx", () => ({
  default: function Screen({ id, isNew, onShown }: TerminalScreenProps) {
    const [told] = useState(`${id} ${isNew ? "new" : "again"}`);
    useEffect(onShown, [onShown]);
    return <div data-testid="screen">{told}</div>;
  },
}));

layOut();
beforeEach(() => {
  location.hash = "";
});

const someTerminal = (changes: Partial<Terminal> = {}): Terminal => ({
  id: "m1",
  task_id: "t1",
  project_id: "p1",
  title: "Terminal 1",
  opened_by: "user:board",
  opened_at: new Date().toISOString(),
  ended_at: null,
  exit_code: null,
  reason: null,
  ...changes,
});

async function opened(items: () => readonly Terminal[], more: Answers = {}) {
  const panel = show(
    { task: someTask({ workspace: someWorkspace() }) },
    { terminal_list: () => ({ items: items(), next_cursor: null }), ...more },
  );
  await panel.user.click(await screen.findByRole("tab", { name: "Terminal" }));
  return panel;
}

describe("the terminals of a task", () => {
  it("have a tab only where there is a worktree", async () => {
    show({ task: someTask({ workspace: null }) });
    await screen.findByRole("tab", { name: "Timeline" });
    expect(screen.queryByRole("tab", { name: "Terminal" })).toBeNull();
  });

  it("are opened from a tab that says what they are", async () => {
    let items: Terminal[] = [];
    const { user, platform, sent, container } = await opened(() => items, {
      terminal_open: () => {
        items = [someTerminal()];
        return items[0];
      },
    });
    await screen.findByText(/A terminal is a shell in this task's worktree/);
    expect(await violations(container)).toEqual([]);
    await user.click(screen.getByRole("button", { name: "New terminal" }));
    act(() => platform.commit({ tags: ["task:t1"] }));
    expect((await screen.findByTestId("screen")).textContent).toBe("m1 new");
    expect(sent("terminal_open")).toEqual([{ task_id: "t1" }]);
  });

  it("are new only for the first time that they are shown", async () => {
    let items = [someTerminal({ id: "m0", title: "Terminal 0" })];
    const { user, platform } = await opened(() => items, {
      terminal_open: () => {
        items = [...items, someTerminal()];
        return items.at(-1);
      },
    });
    await user.click(await screen.findByRole("button", { name: "New terminal" }));
    act(() => platform.commit({ tags: ["task:t1"] }));
    await waitFor(() => expect(screen.getByTestId("screen").textContent).toBe("m1 new"));
    await user.click(screen.getByRole("button", { name: "Terminal 0" }));
    await user.click(screen.getByRole("button", { name: "Terminal 1" }));
    expect(screen.getByTestId("screen").textContent).toBe("m1 again");
  });

  it("are chosen by name, and one that ended says how", async () => {
    const items = [
      someTerminal({ ended_at: new Date().toISOString(), reason: "Ended with exit code 3" }),
      someTerminal({ id: "m2", title: "Terminal 2" }),
    ];
    const { user, container } = await opened(() => items);
    expect((await screen.findByTestId("screen")).textContent).toBe("m2 again");
    await user.click(screen.getByRole("button", { name: "Terminal 1 (ended)" }));
    expect(screen.getByTestId("screen").textContent).toBe("m1 again");
    screen.getByText("Ended with exit code 3");
    expect(await violations(container)).toEqual([]);
  });

  it("are closed after a question where a program runs", async () => {
    let items: readonly Terminal[] = [someTerminal()];
    const { user, platform, sent } = await opened(() => items, {
      terminal_close: ({ end_program }: { end_program: boolean }) => {
        if (!end_program) refuse("terminal_busy", "Terminal 1 runs vim (process 7)")();
        items = [];
        return { done: true };
      },
    });
    await user.click(await screen.findByRole("button", { name: "Close Terminal 1" }));
    const dialog = await screen.findByRole("alertdialog");
    within(dialog).getByText("Terminal 1 runs vim (process 7)");
    await user.click(within(dialog).getByRole("button", { name: "End program" }));
    act(() => platform.commit({ tags: ["task:t1"] }));
    await waitFor(() => expect(screen.queryByTestId("screen")).toBeNull());
    expect(sent("terminal_close")).toEqual([
      { terminal_id: "m1", end_program: false },
      { terminal_id: "m1", end_program: true },
    ]);
  });

  it("are not offered where the worktree is on a machine, which is said", async () => {
    const workspace = someWorkspace({ machine_id: "box" });
    const answers = { terminal_list: () => ({ items: [], next_cursor: null }) };
    const { user } = show({ task: someTask({ workspace }) }, answers);
    await user.click(await screen.findByRole("tab", { name: "Terminal" }));
    await screen.findByText(/only in worktrees on this computer/);
    expect(screen.queryByRole("button", { name: "New terminal" })).toBeNull();
  });

  it("are not offered beside those that are open, where the worktree is on a machine", async () => {
    const workspace = someWorkspace({ machine_id: "box" });
    const answers = { terminal_list: () => ({ items: [someTerminal()], next_cursor: null }) };
    const { user } = show({ task: someTask({ workspace }) }, answers);
    await user.click(await screen.findByRole("tab", { name: "Terminal" }));
    await screen.findByTestId("screen");
    expect(screen.queryByRole("button", { name: "New terminal" })).toBeNull();
  });

  it("say why none can be opened", async () => {
    const { user } = await opened(() => [], {
      terminal_open: refuse("terminal_elsewhere", "its worktree is on the machine `box`"),
    });
    await user.click(await screen.findByRole("button", { name: "New terminal" }));
    expect((await screen.findByRole("alert")).textContent).toContain("on the machine box");
  });
});
