import { screen, waitFor } from "@testing-library/react";
import { expect, it } from "vitest";
// Before the tests: as chunks they may take longer than a test has.
import "#ui/features/board/BoardScreen.tsx";
import "#ui/features/task/TaskPanel.tsx";
import "#ui/features/task/diff/DiffTab.tsx";
import { openApp } from "#ui/test/renderApp.tsx";
import { createSampleHost } from "#ui/test/sampleHost.ts";
import { commandStore } from "./keys.ts";

it("gives no key to the board and to the diff beside it", async () => {
  openApp(createSampleHost("diff"), "#/board/p1?task=1&tab=diff");
  await screen.findByRole("button", { name: /^#1 / });
  const keysOf = (group: string) =>
    [...commandStore.getState().commands.values()]
      .filter(({ id }) => id.startsWith(`${group}.`))
      .flatMap(({ keys }) => keys ?? []);
  // The keys between comments come last, once the comments are read.
  await waitFor(() =>
    expect(commandStore.getState().commands.get("diff.comment.next")?.enabled).toBe(true),
  );
  expect(keysOf("diff").length).toBeGreaterThan(5);
  const onBoard = new Set(keysOf("board"));
  expect(onBoard.size).toBeGreaterThan(5);
  expect(keysOf("diff").filter((key) => onBoard.has(key))).toEqual([]);
});
