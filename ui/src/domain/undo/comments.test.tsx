import { render, screen } from "@testing-library/react";
import { expect, it } from "vitest";
import { ToastHost } from "#ui/components/Toast.tsx";
import { createFakePlatform } from "#ui/platform/fake.ts";
import { sampleComment } from "#ui/test/sampleDiff.ts";
import { offerCommentBack } from "./acts.ts";
import { undoLast } from "./undo.ts";

it("returns a draft whose lines are gone to its file, and says so before", async () => {
  const comment = sampleComment({ line: 30, outdated: true, text: "Why?" });
  const platform = createFakePlatform({ comment_create: () => comment });
  render(<ToastHost>{null}</ToastHost>);
  offerCommentBack(platform, comment);
  await screen.findByText("Its lines no longer exist. Undo attaches it to the whole file.");
  undoLast();
  await screen.findByText("Undone: Deleted the comment on src/login.ts");
  const { task_id, path, side } = comment;
  expect(platform.calls.map(({ input }) => input)).toEqual([{ task_id, path, side, text: "Why?" }]);
});

it("shows the words of a draft that could not be written again", async () => {
  const platform = createFakePlatform({
    comment_create: () => {
      throw {
        code: "invalid",
        message: "line: src/login.ts has 3 lines",
        hints: [],
        details: null,
      };
    },
  });
  render(<ToastHost>{null}</ToastHost>);
  offerCommentBack(platform, sampleComment({ line: 30, text: "Why?" }));
  undoLast();
  await screen.findByText("Could not undo “Deleted the comment on src/login.ts”");
  expect(screen.getByRole("alert").textContent).toContain(
    "line: src/login.ts has 3 lines. The comment said: Why?",
  );
});
