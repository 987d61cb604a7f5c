import { render, screen } from "@testing-library/react";
import { QueryClientProvider } from "@tanstack/react-query";
import { describe, expect, it, vi } from "vitest";
import { createQueryClient } from "#ui/api/operations.tsx";
import type { Task } from "#ui/api/generated.ts";
import { TooltipProvider } from "#ui/components/Tooltip.tsx";
import { createFakePlatform } from "#ui/platform/fake.ts";
import { PlatformProvider } from "#ui/platform/PlatformContext.tsx";
import { sampleTask, sampleWorkflowView } from "#ui/test/sample.ts";
import { sampleTaskPullRequest } from "#ui/test/sampleReview.ts";
import { CardFace } from "./Card.tsx";
import { lineOf, lineTone } from "./format.ts";
import { roleGroups } from "./roleGroups.tsx";

const live = (role: string) => ({
  execution_id: "e1",
  agent_id: "a1",
  role,
  activity: "Reading src/limit.rs",
  started_at: "2030-01-01T12:00:00Z",
});

describe("who can be given a role", () => {
  it("is every agent, the person and nobody, for every role of the workflow", () => {
    const give = vi.fn<(role: string, holder: string | null) => void>();
    const groups = roleGroups({
      view: sampleWorkflowView,
      agents: new Map([["a1", "Codex local"]]),
      title: "#1 Read it",
      words: { you: "You", nobody: "Nobody" },
      give,
    });
    expect(groups.map(({ value }) => value)).toEqual(["#1 Read it · Coder", "Reviewer"]);
    for (const { items } of groups) {
      expect(items.map(({ label }) => label)).toEqual(["Codex local", "You", "Nobody"]);
    }
    for (const item of groups[1]?.items ?? []) item.run();
    expect(give.mock.calls).toEqual([
      ["reviewer", "a1"],
      ["reviewer", "user"],
      ["reviewer", null],
    ]);
  });
});

describe("a card", () => {
  const show = (change: Partial<Task>) => {
    const platform = createFakePlatform({
      task_pull_request: () => ({ pull_request: sampleTaskPullRequest() }),
      task_get: () => sampleTask(change),
    });
    render(
      <PlatformProvider platform={platform}>
        <QueryClientProvider client={createQueryClient()}>
          <TooltipProvider>
            <CardFace task={sampleTask(change)} state={undefined} agent={null} showState={false} />
          </TooltipProvider>
        </QueryClientProvider>
      </PlatformProvider>,
    );
    return platform;
  };

  it("tells an auditor at work from a coder", () => {
    const auditing = lineOf(sampleTask({ live: live("reviewer") }), undefined);
    expect(auditing).toEqual({ kind: "auditing", activity: "Reading src/limit.rs" });
    expect(lineTone(auditing)).toBe("review");
    expect(lineOf(sampleTask({ live: live("coder") }), undefined).kind).toBe("live");
    show({ live: live("reviewer") });
    expect(screen.getByText(/Reviewer: Reading src\/limit.rs/)).toBeTruthy();
  });

  it("has its pull request without asking for it", () => {
    const url = "https://code.example/pull/128";
    for (const [state, said] of [
      ["open", "Pull request #128"],
      ["merged", "Pull request #128, merged"],
      ["closed", "Pull request #128, closed"],
    ] as const) {
      const platform = show({ pull_request: { number: 128, url, state } });
      expect(screen.getByRole("img", { name: said })).toBeTruthy();
      expect(platform.calls.map(({ op }) => op)).not.toContain("task_pull_request");
    }
  });

  it("has none where there is none", () => {
    show({});
    expect(screen.queryByRole("img", { name: /Pull request/ })).toBeNull();
  });
});
