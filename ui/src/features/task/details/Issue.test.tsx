import { screen, waitFor } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import type { IssueLink, TaskIssue } from "#ui/api/generated.ts";
import {
  sampleIssueLink,
  samplePending,
  sampleTaskIssue,
  sampleUnsent,
} from "#ui/test/sampleIssues.ts";
import { someTask } from "../testing/fixtures.ts";
import { layOut, refuse, show, violations, type Answers } from "../testing/show.tsx";

layOut();

function showIssue(link: Partial<IssueLink>, found: Partial<TaskIssue> = {}, more: Answers = {}) {
  const issue = sampleIssueLink(link);
  return show(
    { task: someTask({ status: "todo", issue }) },
    { task_issue: () => ({ issue: sampleTaskIssue({ issue, ...found }) }), ...more },
  );
}

const press = async (user: ReturnType<typeof show>["user"], name: string) =>
  user.click(await screen.findByRole("button", { name }));

describe("the issue of a task", () => {
  it("is linked, with its state, labels and last comments", async () => {
    const { platform, user, container } = showIssue({ state: "closed", is_public: true });
    const labels = await screen.findByRole("list", { name: "Labels of the issue" });
    expect(labels.textContent).toBe("bugimport");
    expect(screen.getByRole("heading", { name: /^Issue/ }).textContent).toBe("IssueClosed");
    expect(
      screen.getByText("From a public repository: starts only when you start it."),
    ).toBeTruthy();
    const comments = screen.getByText("2 comments").closest("details");
    expect(comments?.open).toBe(false);
    await user.click(screen.getByText("2 comments"));
    expect(comments?.textContent).toContain("It also happens with");
    await press(user, "Open GitHub octo/app#241");
    await press(user, "Open hubot's comment");
    expect(platform.opened.map(({ target }) => target)).toEqual([
      "https://github.com/octo/app/issues/241",
      "https://github.com/octo/app/issues/241#issuecomment-1",
    ]);
    expect(await violations(container)).toEqual([]);
  });

  it("of a file has no link, and no note of a public repository", async () => {
    showIssue({ kind: "markdown", name: "plan.md: Tidy up", url: null });
    await screen.findByText("plan.md: Tidy up");
    expect(screen.queryByRole("button", { name: /^Open plan/ })).toBeNull();
    expect(screen.queryByText(/public repository/)).toBeNull();
  });

  it("is not asked for by a task that was not imported", async () => {
    const { sent } = show({ task: someTask({ status: "todo", issue: null }) });
    await screen.findByRole("heading", { name: "Description" });
    expect(screen.queryByRole("heading", { name: /^Issue/ })).toBeNull();
    expect(sent("task_issue")).toEqual([]);
  });
});

describe("an issue that differs", () => {
  const differs = { differs: true };

  it("stands beside the task's text, field by field", async () => {
    const { container } = showIssue(differs, { pending: { ...samplePending, title: null } });
    const theirs = await screen.findByRole("region", { name: "Text of the issue" });
    const own = screen.getByRole("region", { name: "Text of the task" });
    await waitFor(() => expect(theirs.textContent).toContain("Read RFC 4180"));
    expect(own.textContent).toContain("Five attempts a minute per address.");
    expect(own.textContent).not.toContain("Rate-limit the login endpoint");
    expect(screen.getByText("Differs from issue")).toBeTruthy();
    expect(await violations(container)).toEqual([]);
  });

  it.each([
    ["Use the issue's text", "issue"],
    ["Keep the task's text", "task"],
  ])("is settled by %s", async (name, keep) => {
    const issue = sampleIssueLink(differs);
    let pending: TaskIssue["pending"] = samplePending;
    const { sent, user, platform } = showIssue(
      differs,
      {},
      {
        task_issue: () => ({ issue: sampleTaskIssue({ issue, pending }) }),
        task_issue_resolve: () => {
          pending = null;
          platform.commit({ task_id: "t1", tags: ["task:t1"] });
          return someTask();
        },
      },
    );
    await press(user, name);
    await waitFor(() => expect(screen.queryByRole("button", { name })).toBeNull());
    expect(sent("task_issue_resolve")).toEqual([{ task_id: "t1", keep, version: 7 }]);
    expect(document.activeElement).toBe(screen.getByRole("heading", { name: /^Issue/ }));
  });

  it("says why it could not be settled", async () => {
    const { user } = showIssue(
      differs,
      { pending: samplePending },
      { task_issue_resolve: refuse("stale", "the task has changed since you read it") },
    );
    await press(user, "Keep the task's text");
    expect(await screen.findByText("the task has changed since you read it")).toBeTruthy();
  });
});

describe("an issue that could not be written", () => {
  it("says what is missing, why, what to do and when it is tried again, and tries again now", async () => {
    const issue = sampleIssueLink();
    let unsent = sampleUnsent();
    const answer = () => ({ issue: sampleTaskIssue({ issue, unsent }) });
    const { container, sent, user } = showIssue(
      {},
      {},
      {
        task_issue: answer,
        task_issue_retry: () => {
          unsent = unsent.slice(1);
          return answer();
        },
      },
    );
    const alert = await screen.findByRole("alert", { name: "Could not write to the issue" });
    expect(alert.textContent).toContain("Not written: comment that work began.");
    expect(alert.textContent).toContain("GitHub refused the request (403)");
    expect(alert.textContent).toContain("Store a token that can write");
    expect(alert.textContent).toMatch(/Next try in 4[12]m/);
    expect(alert.textContent).not.toContain("label");
    expect(await violations(container)).toEqual([]);
    await press(user, "Try again now");
    await waitFor(() => expect(screen.queryByRole("alert")).toBeNull());
    expect(sent("task_issue_retry")).toEqual([{ task_id: "t1" }]);
    expect(screen.getByText("Queued for the issue: label of the task's state.")).toBeTruthy();
    expect(document.activeElement).toBe(screen.getByRole("heading", { name: /^Issue/ }));
  });

  it("says why it could not be tried again", async () => {
    const { user } = showIssue(
      {},
      { unsent: sampleUnsent() },
      { task_issue_retry: refuse("internal", "the disk is full") },
    );
    await press(user, "Try again now");
    expect(await screen.findByText("the disk is full")).toBeTruthy();
  });

  it("says nothing while all is written", async () => {
    showIssue({});
    await screen.findByText("2 comments");
    expect(screen.queryByText(/^Queued for the issue/)).toBeNull();
    expect(screen.queryByRole("button", { name: "Try again now" })).toBeNull();
  });
});
