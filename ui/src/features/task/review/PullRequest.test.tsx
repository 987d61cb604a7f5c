import { screen, waitFor, within } from "@testing-library/react";
import { beforeEach, describe, expect, it } from "vitest";
import type { TaskPullRequest } from "#ui/api/generated.ts";
import { samplePullRequest, sampleTaskPullRequest } from "#ui/test/sampleReview.ts";
import { someTask, someWorkspace } from "../testing/fixtures.ts";
import { layOut, refuse, show, violations, type Answers } from "../testing/show.tsx";

layOut();
beforeEach(() => {
  location.hash = "";
});

const task = someTask({
  status: "merging",
  workspace: someWorkspace(),
  review_passed_at: "2030-01-01T12:00:00Z",
  pull_request: { number: 128, url: "https://github.com/acme/website/pull/128", state: "open" },
});

async function open(found: TaskPullRequest | null, more: Answers = {}) {
  const shown = show(
    { task },
    {
      project_merge_queue: () => ({ items: [], next_cursor: null }),
      task_pull_request: () => ({ pull_request: found }),
      ...more,
    },
  );
  await screen.findByRole("tab", { name: "Review" });
  await shown.user.keyboard("3");
  return shown;
}
const region = () => screen.findByRole("region", { name: "Pull request" });

describe("a pull request", () => {
  it("is told with its checks, comments and what could not be read, and opens outside", async () => {
    const { platform, user, container } = await open(
      sampleTaskPullRequest({
        told: ["c1"],
        pull_request: samplePullRequest({ unread: [{ what: "reviews", why: "403" }] }),
      }),
    );
    const pull = await region();
    expect(within(pull).getByText("Open")).toBeTruthy();
    const checks = within(pull).getByRole("list", { name: "Checks on the code host" });
    expect(
      within(checks)
        .getAllByRole("img")
        .map((mark) => mark.getAttribute("aria-label")),
    ).toEqual(["Passed", "Failed", "Pending", "Skipped"]);
    // Only what failed can be sent.
    expect(within(checks).getAllByRole("checkbox")).toHaveLength(1);
    const comments = within(pull).getByRole("list", { name: "Comments on the code host" });
    expect(within(comments).getByText("sent to agent")).toBeTruthy();
    expect(within(comments).getByText("Changes requested")).toBeTruthy();
    expect((await within(comments).findByText("window")).tagName).toBe("STRONG");
    expect(
      within(comments).getByRole("link", { name: "src/limit.rs:12" }).getAttribute("href"),
    ).toContain("line=12");
    expect(within(pull).getByText("Could not load reviews: 403")).toBeTruthy();
    expect(await violations(container)).toEqual([]);
    await user.click(within(pull).getByRole("button", { name: "Open on host" }));
    expect(platform.opened).toEqual([
      { kind: "external", target: "https://github.com/acme/website/pull/128" },
    ]);
    expect(screen.getByRole("button", { name: "Open pull request #128" })).toBeTruthy();
  });

  it("sends what is chosen to the agent, with a message", async () => {
    const { user, sent } = await open(sampleTaskPullRequest({ told: ["c1"] }), {
      pull_request_send: () => task,
    });
    const pull = await region();
    expect(within(pull).queryByRole("button", { name: /to the agent/ })).toBeNull();
    await user.click(within(pull).getByRole("button", { name: "Select new (2)" }));
    await user.click(within(pull).getByRole("checkbox", { name: "Select the comment by kim" }));
    await user.click(within(pull).getByRole("checkbox", { name: "Select the comment by lee" }));
    await user.type(within(pull).getByLabelText("Message to the agent"), "Both, please.");
    await user.click(within(pull).getByRole("button", { name: "Send 2 to the agent" }));
    await waitFor(() =>
      expect(sent("pull_request_send")).toEqual([
        { task_id: "t1", comments: ["c1"], checks: ["e2e"], message: "Both, please." },
      ]),
    );
    expect(await screen.findByText("Sent to the agent")).toBeTruthy();
    await waitFor(() => expect(within(pull).queryByRole("button", { name: /Send 2/ })).toBeNull());
  });

  it("keeps what is chosen when it could not be sent", async () => {
    const { user } = await open(sampleTaskPullRequest(), {
      pull_request_send: refuse("workspace_locked", "failed to send: the agent works"),
    });
    const pull = await region();
    await user.click(within(pull).getByRole("checkbox", { name: "Select check e2e" }));
    await user.click(within(pull).getByRole("button", { name: "Send 1 to the agent" }));
    expect(await within(pull).findByText("failed to send: the agent works")).toBeTruthy();
    expect(within(pull).getByRole("button", { name: "Send 1 to the agent" })).toBeTruthy();
  });

  it("says why the host was not reached, when it is asked again, and asks now", async () => {
    const { user, sent } = await open(
      sampleTaskPullRequest({
        trouble: "the name could not be resolved",
        remedy: "Forge asks again automatically",
      }),
      { pull_request_refresh: refuse("host_unreachable", "failed to ask: no answer") },
    );
    const pull = await region();
    const trouble = within(pull).getByRole("alert", {
      name: "The last check of the code host failed",
    });
    expect(trouble.textContent).toContain("the name could not be resolved");
    expect(trouble.textContent).toContain("What to do: Forge asks again automatically");
    expect(
      within(trouble).getByRole("link", { name: "Code host settings" }).getAttribute("href"),
    ).toBe("#/settings/project/p1?tab=pullRequests");
    expect(pull.textContent).toContain("checks again in");
    await user.click(within(pull).getByRole("button", { name: /Check now/ }));
    expect(await within(pull).findByText("failed to ask: no answer")).toBeTruthy();
    await user.keyboard("r");
    await waitFor(() =>
      expect(sent("pull_request_refresh")).toEqual([{ task_id: "t1" }, { task_id: "t1" }]),
    );
  });

  it("that could not be made says so once", async () => {
    const remedy = "no token was found; set FORGE_GITEA_TOKEN";
    await open(
      sampleTaskPullRequest({
        pull_request: null,
        trouble: `not signed in to git.example: ${remedy}`,
        remedy,
      }),
    );
    const pull = await region();
    expect(pull.textContent?.split("FORGE_GITEA_TOKEN")).toHaveLength(2);
    expect(within(pull).queryByText("Creating the pull request…")).toBeNull();
  });

  it("that was closed offers nothing as new", async () => {
    await open(sampleTaskPullRequest({ pull_request: samplePullRequest({ state: "closed" }) }));
    const pull = await region();
    expect(within(pull).getByText("Closed")).toBeTruthy();
    expect(within(pull).queryByRole("button", { name: /Select new/ })).toBeNull();
  });

  it("is on its way, is not there, or could not be read", async () => {
    const making = await open(
      sampleTaskPullRequest({ pull_request: null, checked_at: null, next_check_at: null }),
    );
    expect(await screen.findByText("Creating the pull request…")).toBeTruthy();
    expect(screen.getByText("Not checked yet")).toBeTruthy();
    making.unmount();
    const none = await open(null);
    await screen.findByText("No review yet");
    expect(screen.queryByRole("region", { name: "Pull request" })).toBeNull();
    none.unmount();
    await open(null, { task_pull_request: refuse("internal", "failed to read") });
    expect(await screen.findByText("Could not load the pull request")).toBeTruthy();
  });
});
