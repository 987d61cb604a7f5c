import { act, screen, waitFor, within } from "@testing-library/react";
import { afterEach, describe, expect, it, vi } from "vitest";
import type { AddAttachment, Attachment } from "#ui/api/generated.ts";
import { followFileDrops } from "#ui/app/fileDrops.ts";
import { someExecution, someTask } from "../../testing/fixtures.ts";
import { layOut, show, violations } from "../../testing/show.tsx";
import { maxFileBytes } from "./files.ts";

layOut();
afterEach(() => vi.restoreAllMocks());

function open(task = someTask({ status: "in_progress" }), refuse?: () => never) {
  let files: Attachment[] = [];
  const page = () => ({ items: [...files], next_cursor: null });
  return show(
    { task, executions: [someExecution()], entries: [] },
    {
      attachment_list: page,
      attachment_add: ({ name, path, data }: AddAttachment) => {
        refuse?.();
        const added = {
          id: `f${files.length + 1}`,
          task_id: "t1",
          name: name ?? path?.split("/").at(-1) ?? "",
          bytes: data?.length ?? 3,
          added_at: "2030-01-01T00:00:00Z",
          sent_at: null,
        };
        files = [...files, added];
        return added;
      },
      attachment_remove: ({ attachment_id }: { attachment_id: string }) => {
        files = files.filter(({ id }) => id !== attachment_id);
        return { done: true };
      },
      execution_follow_up: () => {
        files = [];
        return task;
      },
    },
  );
}

const list = () => screen.findByRole("list", { name: "Attachments" });
const pick = async () =>
  await screen.findByLabelText<HTMLInputElement>("Attach files", { selector: "input" });

describe("files for the agent", () => {
  it("are kept as they are chosen, can be left out, and go with the message", async () => {
    const { user, sent, container, platform } = open();
    await user.upload(await pick(), [
      new File(["it broke"], "trace.log"),
      new File(["x"], "b.png"),
    ]);
    const chosen = await list();
    await within(chosen).findByText("b.png");
    expect(sent("attachment_add")).toEqual([
      { task_id: "t1", name: "trace.log", data: "aXQgYnJva2U=" },
      { task_id: "t1", name: "b.png", data: "eA==" },
    ]);
    expect(await violations(container)).toEqual([]);
    await user.click(within(chosen).getByRole("button", { name: "Remove b.png" }));
    await waitFor(() => expect(within(chosen).queryByText("b.png")).toBeNull());

    // No word is needed: the file says enough.
    await user.click(screen.getByRole("button", { name: /^Send/ }));
    expect(sent("execution_follow_up")).toEqual([
      { execution_id: "e1", message: "", attachments: ["f1"] },
    ]);
    act(() => platform.commit({ tags: ["task:t1"] }));
    await waitFor(() => expect(screen.queryByRole("list", { name: "Attachments" })).toBeNull());
  });

  it("that are too large are told before anything is read", async () => {
    const { user, sent } = open();
    const large = new File(["x"], "dump.bin");
    vi.spyOn(large, "size", "get").mockReturnValue(maxFileBytes + 1);
    await user.upload(await pick(), large);
    const said = await screen.findByText(/dump\.bin is 10\.5 MB\. The limit is 10\.5 MB/);
    expect(said.closest("[role=alert]")).not.toBeNull();
    expect(sent("attachment_add")).toEqual([]);
  });

  it("that the engine refuses are told with its reason", async () => {
    const { user } = open(undefined, () => {
      throw { code: "invalid", message: "failed to keep the file", hints: [], details: null };
    });
    await user.upload(await pick(), new File(["x"], "a.txt"));
    expect(await screen.findByText("failed to keep the file")).toBeTruthy();
  });

  it("are taken where they are dropped", async () => {
    const { platform, sent } = open();
    const box = (await screen.findByRole("textbox", { name: "Message to the agent" }))
      .parentElement;
    if (!box) throw new Error("no box");
    vi.spyOn(box, "getBoundingClientRect").mockReturnValue(new DOMRect(100, 500, 400, 90));
    const unfollow = followFileDrops(platform);
    act(() => platform.dropFiles(["/home/me/notes.md"], { x: 120, y: 510 }));
    await within(await list()).findByText("notes.md");
    expect(sent("attachment_add")).toEqual([{ task_id: "t1", path: "/home/me/notes.md" }]);
    unfollow?.();
  });
});

it("offers the same work once more where the engine does", async () => {
  const offer = { verb: "retry" as const, label: "Try again", fields: [], why: "Runs it again." };
  const { user, sent } = open(someTask({ status: "in_progress", offers: [offer] }));
  const box = await screen.findByRole("textbox", { name: "Message to the agent" });
  const form = box.closest("form");
  if (!form) throw new Error("no form");
  await user.click(within(form).getByRole("button", { name: "Try again" }));
  expect(sent("task_action")).toMatchObject([{ task_id: "t1", verb: "retry", wait: "none" }]);
});

it("keeps a message that is not sent yet, and forgets it once it is", async () => {
  const box = () =>
    screen.findByRole<HTMLTextAreaElement>("textbox", { name: "Message to the agent" });
  const first = open();
  await first.user.type(await box(), "Mind the empty list.");
  first.unmount();
  const second = open();
  expect((await box()).value).toBe("Mind the empty list.");
  await second.user.click(await box());
  await second.user.keyboard("{Control>}{Enter}{/Control}");
  await waitFor(async () => expect((await box()).value).toBe(""));
  second.unmount();
  open();
  expect((await box()).value).toBe("");
});
