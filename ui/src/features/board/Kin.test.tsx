import { QueryClientProvider } from "@tanstack/react-query";
import { render, screen } from "@testing-library/react";
import { expect, it } from "vitest";
import { createQueryClient } from "#ui/api/operations.tsx";
import type { Task } from "#ui/api/generated.ts";
import { createFakePlatform } from "#ui/platform/fake.ts";
import { PlatformProvider } from "#ui/platform/PlatformContext.tsx";
import { sampleTask } from "#ui/test/sample.ts";
import { CardFace } from "./Card.tsx";

function showCard(change: Partial<Task>) {
  const parent = sampleTask({ id: "t9", number: 9, title: "The whole" });
  const platform = createFakePlatform({ task_get: () => parent });
  render(
    <PlatformProvider platform={platform}>
      <QueryClientProvider client={createQueryClient()}>
        <CardFace task={sampleTask(change)} state={undefined} agent={null} showState={false} />
      </QueryClientProvider>
    </PlatformProvider>,
  );
  return platform;
}

it("says on the card how far its parts are and how many tasks it waits for", () => {
  const platform = showCard({ subtasks: { closed: 1, total: 3 }, blocked_by: ["t2", "t3"] });
  expect(screen.getByRole("img", { name: "1 of 3 subtasks closed" }).textContent).toBe("1/3");
  expect(screen.getByRole("img", { name: "Depends on 2 open tasks" }).textContent).toBe("2");
  // The one list of what serves is read once for all cards; nothing of this task is asked.
  expect(platform.calls.map(({ op }) => op)).toEqual(["service_list"]);
});

it("names what the card is part of", async () => {
  showCard({ parent_id: "t9" });
  const mark = await screen.findByTitle("Subtask of #9 The whole");
  expect(mark.textContent).toBe("subtask of #9");
});
