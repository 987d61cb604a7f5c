import { QueryClientProvider } from "@tanstack/react-query";
import { act, render, renderHook, screen, waitFor } from "@testing-library/react";
import type { ReactNode } from "react";
import { expect, it } from "vitest";
import { createFakePlatform, type FakePlatform } from "#ui/platform/fake.ts";
import { PlatformProvider } from "#ui/platform/PlatformContext.tsx";
import { followChanges } from "./changes.ts";
import { ApiError } from "./error.ts";
import { createOperations, createQueryClient } from "./operations.tsx";

interface SampleOperations {
  task_get: { input: { id: string }; output: { id: string; title: string } };
  agent_list: { input: null; output: string[] };
  task_rename: { input: { id: string; title: string }; output: { title: string } };
}

const api = createOperations<SampleOperations>({
  task_get: ({ id }) => [`task:${id}`],
  agent_list: () => ["agents"],
});

function setUp(answers: Parameters<typeof createFakePlatform>[0]) {
  const platform = createFakePlatform(answers);
  const client = createQueryClient();
  const frames: (() => void)[] = [];
  followChanges(client, platform.onChanges, (run) => frames.push(run));
  const wrapper = ({ children }: { children: ReactNode }) => (
    <QueryClientProvider client={client}>
      <PlatformProvider platform={platform}>{children}</PlatformProvider>
    </QueryClientProvider>
  );
  const frame = () => act(async () => frames.splice(0).forEach((run) => run()));
  return { platform, wrapper, frame, frames };
}

const callsOf = (platform: FakePlatform, op: string) =>
  platform.calls.filter((call) => call.op === op).length;

const sample = {
  task_get: ({ id }: { id: string }) => ({ id, title: `Task ${id}` }),
  agent_list: () => ["codex"],
};

function Both() {
  const task = api.useOp("task_get", { id: "1" });
  const agents = api.useOp("agent_list", null);
  return <p>{task.data && agents.data ? `${task.data.title}, ${agents.data.join()}` : "…"}</p>;
}

it("reads again what a change names, once a frame, and nothing else", async () => {
  const { platform, wrapper, frame, frames } = setUp(sample);
  render(<Both />, { wrapper });
  await screen.findByText("Task 1, codex");

  for (let index = 0; index < 200; index += 1) platform.commit({ tags: ["task:1"] });
  platform.commit({ tags: ["task:2"] });
  expect(frames).toHaveLength(1);
  await frame();

  await waitFor(() => expect(callsOf(platform, "task_get")).toBe(2));
  expect(callsOf(platform, "agent_list")).toBe(1);
});

it("reads everything again after a gap in the sequence", async () => {
  const { platform, wrapper, frame } = setUp(sample);
  render(<Both />, { wrapper });
  await screen.findByText("Task 1, codex");

  platform.commit({ tags: [] });
  platform.send({ after: 7, seq: 8, changes: [] });
  await frame();

  await waitFor(() => expect(callsOf(platform, "agent_list")).toBe(2));
  expect(callsOf(platform, "task_get")).toBe(2);
});

it("reads a fresh answer again when a part that shows it appears, and no other", async () => {
  const { platform, wrapper } = setUp(sample);
  const read = (fresh: boolean) =>
    renderHook(() => api.useOp("agent_list", null, { fresh }), { wrapper });
  for (const fresh of [false, false, true]) {
    const { result, unmount } = read(fresh);
    await waitFor(() => expect(result.current.isFetching).toBe(false));
    unmount();
  }
  expect(callsOf(platform, "agent_list")).toBe(2);
});

it("answers with the contract's error", async () => {
  const refusal = {
    code: "guard_rejected",
    message: "failed to move the task: its dependencies are open",
    hints: ["Finish #3 first"],
    details: { phase: "before_exit" },
  };
  const { wrapper } = setUp({
    task_rename: () => {
      throw refusal;
    },
  });
  const { result } = renderHook(() => api.useOpMutation("task_rename"), { wrapper });
  act(() => result.current.mutate({ id: "1", title: "x" }));
  await waitFor(() => expect(result.current.error).toBeInstanceOf(ApiError));
  expect(result.current.error).toMatchObject(refusal);
});

it("calls a failure of the way there by its own code", () => {
  expect(ApiError.from(new TypeError("channel closed"))).toMatchObject({
    code: "transport",
    message: "channel closed",
    hints: [],
  });
});
