import { afterEach, expect, it, vi } from "vitest";
import { createFakePlatform } from "#ui/platform/fake.ts";
import { askingHost, terminalQuestion } from "./endTerminals.ts";

afterEach(() => terminalQuestion.setState({ asked: null }));

const busy = { code: "terminal_busy", message: "Terminal 1 runs vim (process 7)" };

function host() {
  return createFakePlatform({
    task_action: ({ end_terminals }: { end_terminals?: boolean }) => {
      if (!end_terminals) throw busy;
      return "closed";
    },
  });
}

const asked = () => terminalQuestion.getState().asked;

it("asks before programs in terminals end with their task, and closes it then", async () => {
  const platform = host();
  const answer = askingHost(platform).call("task_action", { task_id: "t1", verb: "cancel" });
  await vi.waitFor(() => expect(asked()?.why).toBe(busy.message));
  asked()?.answer(true);
  expect(await answer).toBe("closed");
  expect(platform.calls.at(-1)?.input).toEqual({
    task_id: "t1",
    verb: "cancel",
    end_terminals: true,
  });
  expect(asked()).toBeNull();
});

it.each(["task_delete", "workspace_reset", "workspace_remove", "project_delete"] as const)(
  "asks before %s takes the worktree from under a program",
  async (op) => {
    const platform = createFakePlatform({
      [op]: ({ end_terminals }: { end_terminals?: boolean }) => {
        if (!end_terminals) throw busy;
        return "gone";
      },
    });
    const answer = askingHost(platform).call(op, { task_id: "t1" });
    await vi.waitFor(() => expect(asked()?.why).toBe(busy.message));
    asked()?.answer(true);
    expect(await answer).toBe("gone");
  },
);

it("leaves a task as it is whose programs are to go on, and asks about several one by one", async () => {
  const calls = askingHost(host());
  const first = calls.call("task_action", { task_id: "t1" });
  const second = calls.call("task_action", { task_id: "t2" });
  await vi.waitFor(() => expect(asked()).not.toBeNull());
  asked()?.answer(false);
  await expect(first).rejects.toEqual(busy);
  await vi.waitFor(() => expect(asked()).not.toBeNull());
  asked()?.answer(true);
  expect(await second).toBe("closed");
});
