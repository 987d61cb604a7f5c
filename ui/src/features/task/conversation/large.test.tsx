import { act, screen, waitFor } from "@testing-library/react";
import { expect, it } from "vitest";
import type { LogEntry } from "#ui/api/generated.ts";
import { followRenders } from "#ui/test/rendered.ts";
import { someEntry, someExecution, someTask, someWorkspace } from "../testing/fixtures.ts";
import { layOut, show } from "../testing/show.tsx";

layOut();

const kinds = ["assistant_text", "reasoning", "command", "stdout"] as const;
const entry = (seq: number): LogEntry => {
  const kind = kinds[seq % kinds.length] ?? "stdout";
  return someEntry(seq, { kind, body: { text: `entry ${seq}`, command: `make ${seq}` } });
};

async function open(count: number) {
  const entries = Array.from({ length: count }, (_, index) => entry(index + 1));
  const shown = show({
    task: someTask({ workspace: someWorkspace() }),
    executions: [someExecution({ status: "running", finished_at: null })],
    entries,
  });
  const log = await screen.findByRole("log", { name: "Conversation" });
  const add = async (more: number) => {
    for (let each = 0; each < more; each += 1) entries.push(entry(entries.length + 1));
    await act(async () => shown.platform.commit({ tags: ["log:e1"] }));
  };
  return { ...shown, log, add };
}

it("reads and draws the end alone of a conversation of 50,000 entries", async () => {
  const { container, log, sent, add } = await open(50_000);
  await waitFor(() => expect(log.querySelectorAll("[data-index]").length).toBeGreaterThan(20));
  const nodes = () => container.querySelectorAll("*").length;
  const asked = sent("execution_logs") as { readonly limit: number }[];
  expect(asked.length).toBeLessThanOrEqual(3);
  expect(asked.every(({ limit }) => limit <= 200)).toBe(true);
  expect(log.querySelectorAll("[data-index]").length).toBeLessThan(80);
  expect(nodes()).toBeLessThan(2_500);
  const before = nodes();
  await add(400);
  await waitFor(() => expect(sent("execution_logs").length).toBeGreaterThan(asked.length));
  expect(nodes()).toBeLessThan(before * 1.5);
});

it("draws a new entry, and none of those that were there", async () => {
  const { log, add } = await open(150);
  await waitFor(() => expect(log.querySelectorAll("[data-index]").length).toBeGreaterThan(20));
  const shown = () => [...log.querySelectorAll<HTMLElement>("[data-index]")];
  const before = new Set(shown().map(({ dataset }) => dataset["index"]));
  const { commits, stop } = followRenders();
  await add(1);
  stop();
  const fresh = shown().filter(({ dataset }) => !before.has(dataset["index"]));
  const drawn = commits.flat().filter((name) => name === "Entry" || name === "Output");
  expect(drawn.length).toBeLessThanOrEqual(fresh.length + 1);
});
