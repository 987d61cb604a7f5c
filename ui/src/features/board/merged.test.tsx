import { QueryClientProvider } from "@tanstack/react-query";
import { render, screen } from "@testing-library/react";
import { expect, it } from "vitest";
import type { Task } from "#ui/api/generated.ts";
import { createQueryClient } from "#ui/api/operations.tsx";
import { statesOf } from "#ui/domain/useStates.ts";
import { TooltipProvider } from "#ui/components/Tooltip.tsx";
import { createFakePlatform } from "#ui/platform/fake.ts";
import { PlatformProvider } from "#ui/platform/PlatformContext.tsx";
import { sampleTask, sampleWorkflowView } from "#ui/test/sample.ts";
import { CardFace } from "./Card.tsx";

const done = statesOf(sampleWorkflowView).get("done");

function showDone(change: Partial<Task>) {
  render(
    <PlatformProvider platform={createFakePlatform()}>
      <QueryClientProvider client={createQueryClient()}>
        <TooltipProvider>
          <CardFace
            task={sampleTask({ status: "done", ...change })}
            state={done}
            agent={null}
            showState={false}
          />
        </TooltipProvider>
      </QueryClientProvider>
    </PlatformProvider>,
  );
}

it.each([
  [1, "1 commit not merged"],
  [2, "2 commits not merged"],
])("says on a finished card that %d commits stayed behind", (commits, text) => {
  showDone({ unmerged_commits: commits });
  expect(screen.getByTitle(text).textContent).toBe(text);
});

it.each([
  [0, "Closed without merging", "Closed without merging"],
  [1, "Closed without merging, 1 commit", "1 commit stays on forge/t1"],
  [3, "Closed without merging, 3 commits", "3 commits stay on forge/t1"],
])(
  "says on a card that was closed by hand with %d commits what it leaves",
  (commits, text, stays) => {
    showDone({ id: "t1", closed_unmerged: true, unmerged_commits: commits });
    expect(screen.getByTitle(stays).textContent).toBe(text);
  },
);

it("says nothing on a card whose work was merged", () => {
  showDone({});
  expect(screen.queryByText(/not merged|without merging/)).toBeNull();
});
