import { fireEvent, screen, waitFor, within } from "@testing-library/react";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Comment, Task, UpdateComment } from "#ui/api/generated.ts";
import { drafts } from "#ui/draft/drafts.ts";
import type { FakePlatform } from "#ui/platform/fake.ts";
import { movedTask, pageOf } from "#ui/test/answers.ts";
import { diffAnswers, sampleComment, sampleComments } from "#ui/test/sampleDiff.ts";
import { someExecution, someTask, someWorkspace } from "../testing/fixtures.ts";
import { setPreference } from "#ui/store/preferences.ts";
import { opened } from "./composer.ts";
import { layOut, refuse, show, violations, type Answers } from "../testing/show.tsx";

/** The comments as they are read now, and the host that tells of their change. */
let comments: readonly Comment[] = [];
let host: FakePlatform | null = null;

layOut();
beforeEach(() => {
  comments = sampleComments();
  drafts.setState({ drafts: {} });
  opened.setState({ keys: [], asked: null });
  setPreference("diffOneFile", true);
});
afterEach(() => {
  location.hash = "";
});

const reviewed: Partial<Task> = {
  status: "review",
  workspace: someWorkspace(),
  review: { attempt_number: 1, status: "awaiting_human", verdict: null, reviewed_commit: null },
};

/** The panel over the sample's changes; there is no worker here, so rows are plain. */
async function open(place: string, task: Partial<Task> = reviewed, more: Answers = {}) {
  location.hash = `#/task/p1/42?tab=diff${place}`;
  const shown = show(
    { task: someTask(task), executions: [someExecution()] },
    {
      ...diffAnswers(),
      task_executions: () => pageOf([someExecution()]),
      task_comments: () => pageOf(comments),
      ...more,
    },
  );
  host = shown.platform;
  return shown;
}

/** A write that is answered so; then the comments are read as these. */
const leading = <Answer,>(answer: Answer, next: readonly Comment[]) => {
  return () => {
    comments = next;
    host?.commit({ tags: ["task:t1"] });
    return answer;
  };
};
const changed = (id: string, change: Partial<Comment>): Comment[] =>
  sampleComments().map((each) => (each.id === id ? { ...each, ...change } : each));
const making = (change: Partial<Comment>): Answers => {
  const made = sampleComment({ id: "c8", ...change });
  return { comment_create: leading(made, [...sampleComments(), made]) };
};
/** The one draft of the sample is sent. */
const sending = changed("c3", { status: "sent" });
const rowsOf = async (path: string) =>
  await screen.findByRole("log", { name: `Changes in ${path}` });
const card = async (name: string) => await screen.findByRole("article", { name });

describe("comments on lines", () => {
  it("come from the line that a link leads to, by keyboard alone", async () => {
    const why = making({ line: 20, last_line: 21, text: "Why?" });
    const { sent, user, container } = await open("&file=src/login.ts&line=20", reviewed, why);
    const rows = await rowsOf("src/login.ts");
    await waitFor(() => expect(document.activeElement).toBe(rows));
    await user.keyboard("{Shift>}{ArrowDown}{ArrowDown}{/Shift}");
    expect(screen.getByText(/Line 21, added: .*3 rows selected/)).toBeTruthy();
    await user.keyboard("c");
    const box = await screen.findByRole("textbox", { name: "Comment on lines 20 to 21" });
    expect(document.activeElement).toBe(box);
    expect(await violations(container)).toEqual([]);
    await user.type(box, "Why?{Control>}{Enter}{/Control}");
    await waitFor(() =>
      expect(sent("comment_create")).toEqual([
        {
          task_id: "t1",
          path: "src/login.ts",
          side: "new",
          line: 20,
          last_line: 21,
          text: "Why?",
        },
      ]),
    );
    expect((await card("You on lines 20 to 21")).textContent).toContain("Draft");
    expect(screen.queryByRole("textbox", { name: /Comment on/ })).toBeNull();
    expect(document.activeElement).toBe(rows);
    expect(screen.getByText("2 draft comments")).toBeTruthy();
  });

  it("go to the old side where only that has the line, under the old name", async () => {
    const old = making({ path: "src/config.ts", side: "old", line: 4, text: "Keep it" });
    const { sent, user } = await open("&file=src/settings.ts&line=4&side=old", reviewed, old);
    await waitFor(async () => expect(document.activeElement).toBe(await rowsOf("src/settings.ts")));
    await user.keyboard("c");
    await user.type(
      await screen.findByRole("textbox", { name: "Comment on line 4 of the old version" }),
      "Keep it",
    );
    await user.click(screen.getByRole("button", { name: /^Save draft/ }));
    await waitFor(() =>
      expect(sent("comment_create")[0]).toMatchObject({
        path: "src/config.ts",
        side: "old",
        line: 4,
      }),
    );
  });

  it("are drawn from a line's button over the lines below", async () => {
    await open("&file=src/rate/limit.ts");
    await rowsOf("src/rate/limit.ts");
    const rowOf = (line: number) =>
      screen.getByRole("button", { name: `Comment on line ${line}` }).closest("[data-row]");
    document.elementFromPoint = () => rowOf(7);
    fireEvent.pointerDown(screen.getByRole("button", { name: "Comment on line 5" }), { button: 0 });
    fireEvent.pointerMove(window);
    fireEvent.pointerUp(window);
    expect(await screen.findByRole("textbox", { name: "Comment on lines 5 to 7" })).toBeTruthy();
    expect(rowOf(6)?.hasAttribute("data-selected")).toBe(true);
    expect(rowOf(8)?.hasAttribute("data-selected")).toBe(false);
  });

  it("keep what is typed through Escape and another tab, and lose it on Discard", async () => {
    const { user } = await open("&file=src/login.ts&line=20");
    await waitFor(async () => expect(document.activeElement).toBe(await rowsOf("src/login.ts")));
    await user.keyboard("c");
    await user.type(
      await screen.findByRole("textbox", { name: "Comment on line 20" }),
      "Half a{Escape}",
    );
    expect(document.activeElement).toBe(await rowsOf("src/login.ts"));
    await user.click(screen.getByRole("tab", { name: "Timeline" }));
    await user.click(screen.getByRole("tab", { name: /^Diff/ }));
    await user.click(await screen.findByRole("button", { name: /^Modified login.ts/ }));
    const box = await screen.findByRole("textbox", { name: "Comment on line 20" });
    expect((box as HTMLTextAreaElement).value).toBe("Half a");
    // It came into sight; nobody asked to write in it.
    expect(document.activeElement).not.toBe(box);
    await user.click(screen.getByRole("button", { name: "Discard" }));
    expect(screen.queryByRole("textbox", { name: "Comment on line 20" })).toBeNull();
  });

  it("stay in their box when the engine refuses them", async () => {
    const { user } = await open("&file=src/login.ts&line=20", reviewed, {
      comment_create: refuse("invalid", "failed to comment: the file has 9 lines"),
    });
    await waitFor(async () => expect(document.activeElement).toBe(await rowsOf("src/login.ts")));
    await user.keyboard("c");
    await user.type(
      await screen.findByRole("textbox", { name: "Comment on line 20" }),
      "Hm{Control>}{Enter}{/Control}",
    );
    expect(await screen.findByText("failed to comment: the file has 9 lines")).toBeTruthy();
    expect(screen.getByRole("textbox", { name: "Comment on line 20" })).toBeTruthy();
  });

  it("are made on the file as a whole, too", async () => {
    const whole = making({ path: "assets/logo.png", line: null, text: "Too small" });
    const { sent, user } = await open("&file=assets/logo.png", reviewed, whole);
    await user.click(await screen.findByRole("button", { name: "Comment on file" }));
    await user.type(
      await screen.findByRole("textbox", { name: "Comment on assets/logo.png" }),
      "Too small{Control>}{Enter}{/Control}",
    );
    await waitFor(() => expect(sent("comment_create")[0]).toMatchObject({ line: null }));
    expect(await card("You on the whole file")).toBeTruthy();
  });
});

describe("comments that are there", () => {
  it("say who, how grave, what became of them; outdated ones show the lines that were", async () => {
    const { container } = await open("&file=src/login.ts");
    const finding = await card("Claude on line 21");
    expect(finding.textContent).toContain("Reviewer");
    expect(finding.textContent).toContain("Error");
    const outdated = await card("You on line 30");
    expect(outdated.textContent).toContain("Outdated");
    expect(within(outdated).getByLabelText("Original lines").textContent).toContain("lock(user);");
    const resolved = await card("You on line 45 of the old version");
    expect(resolved.textContent).not.toContain("Please warn");
    expect(screen.getByRole("img", { name: "3 open comments, 1 of them drafts" })).toBeTruthy();
    expect(await violations(container)).toEqual([]);
  });

  it("are resolved and opened again", async () => {
    const { sent, user } = await open("&file=src/login.ts", reviewed, {
      comment_update: ({ resolved }: UpdateComment) => {
        const next = changed("c1", { status: resolved ? "resolved" : "sent" });
        return leading(next[0], next)();
      },
    });
    await user.click(
      within(await card("Claude on line 21")).getByRole("button", { name: "Resolve" }),
    );
    await waitFor(async () =>
      expect((await card("Claude on line 21")).textContent).toContain("Resolved"),
    );
    await user.click(
      within(await card("Claude on line 21")).getByRole("button", { name: "Reopen" }),
    );
    await waitFor(() =>
      expect(sent("comment_update")).toEqual([
        { comment_id: "c1", resolved: true },
        { comment_id: "c1", resolved: false },
      ]),
    );
  });

  it("are rewritten and removed while they are drafts", async () => {
    const rewritten = changed("c3", { text: "One line would do. Please." });
    const { sent, user } = await open("&file=src/login.ts", reviewed, {
      comment_update: leading(rewritten[2], rewritten),
      comment_delete: leading(
        { done: true },
        sampleComments().filter(({ id }) => id !== "c3"),
      ),
      comment_create: leading(rewritten[2], rewritten),
    });
    await user.click(
      within(await card("You on lines 22 to 24")).getByRole("button", { name: "Edit" }),
    );
    const box = await screen.findByRole("textbox", { name: "Comment on lines 22 to 24" });
    await user.type(box, " Please.");
    await user.click(screen.getByRole("button", { name: /^Save draft/ }));
    await waitFor(() =>
      expect(sent("comment_update")).toEqual([
        { comment_id: "c3", text: "One line would do. Please." },
      ]),
    );
    const draft = await card("You on lines 22 to 24");
    await user.click(within(draft).getByRole("button", { name: "Delete draft" }));
    await waitFor(() => expect(screen.queryByText("1 draft comment")).toBeNull());
    expect(sent("comment_delete")).toEqual([{ comment_id: "c3" }]);
    await user.click(
      within(
        (await screen.findByText("Deleted the comment on src/login.ts")).closest(
          "[data-tone]",
        ) as HTMLElement,
      ).getByRole("button", { name: "Undo" }),
    );
    await card("You on lines 22 to 24");
    const text = "One line would do. Please.";
    expect(sent("comment_create")).toEqual([
      { task_id: "t1", path: "src/login.ts", side: "new", line: 22, last_line: 24, text },
    ]);
  });

  it("of the host open there", async () => {
    const { platform, user } = await open("&file=src/settings.ts");
    const comment = await card("mira on line 4");
    await user.click(within(comment).getByRole("button", { name: "Open on code host" }));
    expect(platform.opened).toEqual([
      { kind: "external", target: "https://forge.example/pr/1#c6" },
    ]);
  });

  it("are walked through all files, and those of files not shown can be read", async () => {
    const { user } = await open("&file=assets/logo.png");
    await screen.findByText("1 draft comment");
    const next = screen.getByRole("button", { name: "Next comment" });
    await user.click(next);
    await waitFor(async () => expect(document.activeElement).toBe(await card("Claude on line 3")));
    await user.click(next);
    await waitFor(async () => expect(document.activeElement).toBe(await card("You on line 30")));
    await user.click(screen.getByRole("button", { name: "Previous comment" }));
    await waitFor(async () => expect(document.activeElement).toBe(await card("Claude on line 3")));
    await user.click(screen.getByRole("button", { name: "1 on a file not shown" }));
    expect(
      within(screen.getByRole("region", { name: "src/gone.ts" })).getByText("Can this go?"),
    ).toBeTruthy();
  });

  it("stay where their lines are now when the scope is another, or above", async () => {
    comments = [
      sampleComment({ id: "n", line: 2, now_line: 21, now_last_line: 21, text: "moved" }),
      sampleComment({ id: "o", side: "old", line: 20, text: "old" }),
    ];
    const { user } = await open("&file=src/login.ts");
    expect((await card("You on line 20 of the old version")).closest("[data-thread]")).toBeTruthy();
    await user.click(screen.getByRole("combobox", { name: "Scope" }));
    await user.click(await screen.findByRole("option", { name: "Since review" }));
    await waitFor(async () =>
      expect((await card("You on line 20 of the old version")).textContent).toContain(
        "not in this diff",
      ),
    );
    expect((await card("You on line 21")).closest("[data-thread]")).toBeTruthy();
  });
});

describe("drafts are told", () => {
  it("to the agent, with a message or without", async () => {
    const { sent, user } = await open("&file=src/login.ts", reviewed, {
      execution_follow_up: leading(someTask({ status: "in_progress" }), sending),
    });
    await user.click(await screen.findByRole("button", { name: "Send to agent" }));
    const dialog = await screen.findByRole("dialog", { name: "Send comments to the agent" });
    expect(dialog.textContent).toContain("Sends 1 draft comment");
    await user.click(within(dialog).getByRole("button", { name: /^Send 1 comment/ }));
    await waitFor(() =>
      expect(sent("execution_follow_up")).toEqual([
        { execution_id: "e1", message: "", with_comments: true },
      ]),
    );
  });

  it("with a rejection, while the review awaits a person", async () => {
    const { sent, user } = await open("&file=src/login.ts", reviewed, {
      review_reject: leading(movedTask(someTask({ status: "in_progress" })), sending),
    });
    await user.click(await screen.findByRole("button", { name: "Request these changes" }));
    await user.type(
      await screen.findByRole("textbox", { name: "Reason (optional)" }),
      "Not yet{Control>}{Enter}{/Control}",
    );
    await waitFor(() =>
      expect(sent("review_reject")).toEqual([{ task_id: "t1", wait: "none", reason: "Not yet" }]),
    );
    await waitFor(() => expect(screen.queryByRole("dialog")).toBeNull());
  });

  it("not as a rejection when nobody awaits one; not while the agent works", async () => {
    const live = {
      execution_id: "e1",
      agent_id: "a1",
      role: "coder",
      activity: "",
      started_at: "",
    };
    await open("&file=src/login.ts", { workspace: someWorkspace(), live });
    const send = await screen.findByRole("button", { name: "Send to agent" });
    expect(send.hasAttribute("disabled") || send.ariaDisabled === "true").toBe(true);
    expect(screen.queryByRole("button", { name: "Request these changes" })).toBeNull();
  });

  it("from the conversation, when the person says so", async () => {
    const { sent, user } = await open("&file=src/login.ts", reviewed, {
      execution_follow_up: leading(someTask({ status: "in_progress" }), sending),
    });
    await user.click(await screen.findByRole("tab", { name: "Conversation" }));
    const box = await screen.findByRole("checkbox", { name: "with 1 draft comment" });
    const send = screen.getByRole("button", { name: /^Send/ });
    expect(send.hasAttribute("disabled") || send.ariaDisabled === "true").toBe(true);
    await user.click(box);
    await user.click(send);
    await waitFor(() =>
      expect(sent("execution_follow_up")).toEqual([
        { execution_id: "e1", message: "", with_comments: true },
      ]),
    );
  });
});

describe("a link to a line", () => {
  it("says when the file, or the line, is not among the changes", async () => {
    const { unmount } = await open("&file=src/nowhere.ts&line=3");
    expect(await screen.findByText("src/nowhere.ts is not in this diff.")).toBeTruthy();
    unmount();
    await open("&file=src/login.ts&line=10");
    expect(await screen.findByText(/That line is not in this diff/)).toBeTruthy();
  });

  it("is followed again after the person went elsewhere", async () => {
    const { user } = await open("&file=src/login.ts&line=20");
    await rowsOf("src/login.ts");
    await user.click(screen.getByRole("tab", { name: "Timeline" }));
    expect(location.hash).toBe("#/task/p1/42");
    location.hash = "#/task/p1/42?tab=diff&file=src/login.ts&line=20";
    expect(await rowsOf("src/login.ts")).toBeTruthy();
  });
});
