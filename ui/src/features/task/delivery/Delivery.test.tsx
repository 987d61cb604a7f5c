import { screen, waitFor, within } from "@testing-library/react";
import { beforeEach, describe, expect, it, vi } from "vitest";
import type { Delivery, Task } from "#ui/api/generated.ts";
import { sampleDelivery } from "#ui/test/sampleReview.ts";
import { someTask, someWorkspace } from "../testing/fixtures.ts";
import { layOut, refuse, show, violations } from "../testing/show.tsx";

layOut();
beforeEach(() => {
  location.hash = "";
});

const done = (change: Partial<Task> = {}) =>
  someTask({ status: "done", workspace: someWorkspace(), ...change });
const open = (delivery: Delivery, change: Partial<Task> = {}) =>
  show({ task: done(change) }, { task_delivery: () => delivery });

describe("what a task delivered", () => {
  it("is said on top: what, proof, people, runs, cost and time", async () => {
    const { container, user } = open(
      sampleDelivery({ audit: { ...sampleDelivery().audit!, agent_id: "a1" } }),
    );
    const delivery = await screen.findByRole("region", { name: "Delivery" });
    expect(within(delivery).getByRole("heading", { name: "Delivered to main" })).toBeTruthy();
    expect(await within(delivery).findByText(/Five attempts a minute per address/)).toBeTruthy();
    const facts = Object.fromEntries(
      [...delivery.querySelectorAll("dl > div")].map((row) => [
        row.querySelector("dt")?.textContent,
        row.querySelector("dd")?.textContent,
      ]),
    );
    expect(facts).toMatchObject({
      Merge: "into main (77aa5512)",
      Commits: "2",
      Checks: "2 of 2 passed",
      Reviewer: "Claude: Passed, 92 of 100",
      "Decided by": "You (board)",
      "Review attempts": "2",
      "Agent runs": "3",
      Cost: "$2.14",
      Tokens: "740K in, 24.3K out",
      "Agent time": "33m 00s",
      "Total time": "2h 14m",
    });
    expect(within(delivery).queryByText("Limit attempts per address")).toBeNull();
    await user.click(within(delivery).getByRole("button", { name: /commits and checks/ }));
    expect(within(delivery).getByText("Limit attempts per address")).toBeTruthy();
    expect(within(delivery).getByText("npm run lint")).toBeTruthy();
    expect(await violations(container)).toEqual([]);
  });

  it("is copied as Markdown", async () => {
    const { user } = open(sampleDelivery());
    const write = vi.spyOn(navigator.clipboard, "writeText").mockResolvedValue();
    await user.click(await screen.findByRole("button", { name: "Copy as Markdown" }));
    await waitFor(() => expect(write).toHaveBeenCalledOnce());
    const text = write.mock.calls[0]?.[0] ?? "";
    expect(text).toContain("# #42 Rate-limit the login endpoint");
    expect(text).toContain("- Cost: $2.14");
    expect(text).toContain("- `5f0e1d2c` Limit attempts per address");
  });

  it("went through a pull request, which opens outside", async () => {
    const { user, platform } = open(
      sampleDelivery({
        merge: null,
        pull_request: { number: 128, url: "https://example.org/128", state: "merged" },
      }),
    );
    expect(await screen.findByText("Delivered by pull request #128")).toBeTruthy();
    await user.click(screen.getByRole("button", { name: "Pull request #128" }));
    expect(platform.opened).toEqual([{ kind: "external", target: "https://example.org/128" }]);
  });

  it("is what was given up, or nothing at all", async () => {
    const { unmount } = open(sampleDelivery({ merge: null }), { status: "cancelled" });
    expect(await screen.findByText("Cancelled")).toBeTruthy();
    unmount();
    const { sent } = open(
      sampleDelivery({ merge: null, summary: null, commits: [], checks: [], audit: null, runs: 0 }),
    );
    await waitFor(() => expect(sent("task_delivery")).toHaveLength(1));
    expect(screen.queryByRole("region", { name: "Delivery" })).toBeNull();
  });

  it("is not asked for while the task is open", async () => {
    const { sent } = open(sampleDelivery(), { status: "in_progress" });
    await screen.findByRole("tab", { name: "Review" });
    expect(sent("task_delivery")).toEqual([]);
  });

  it("may not have been recorded, which is no error; anything else is one", async () => {
    const old = show({ task: done() }, { task_delivery: refuse("not_found", "none") });
    expect(await screen.findByText("No delivery was recorded for this task.")).toBeTruthy();
    expect(screen.queryByRole("alert")).toBeNull();
    old.unmount();
    show({ task: done() }, { task_delivery: refuse("internal", "failed to read") });
    expect(await screen.findByText("Could not load the delivery")).toBeTruthy();
  });
});
