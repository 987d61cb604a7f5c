import { screen, within } from "@testing-library/react";
import { expect, it } from "vitest";
import { someTask } from "../testing/fixtures.ts";
import { layOut, show, violations } from "../testing/show.tsx";

layOut();

it("shows the prompt layer by layer, each folds, and the whole is copied", async () => {
  const { user, container } = show(
    { task: someTask({ status: "todo" }) },
    {
      task_prompt_preview: () => ({
        text: "Do not push.\n\nFix it.",
        layers: [
          { kind: "rules", text: "Do not push.\n\n" },
          { kind: "now", text: "Fix it." },
        ],
      }),
    },
  );
  await user.click(await screen.findByRole("button", { name: "Preview prompt" }));
  const dialog = await screen.findByRole("dialog", { name: "Preview prompt" });
  const rules = await within(dialog).findByText("Forge rules");
  expect(within(dialog).getByText("This run")).toBeTruthy();
  expect(within(dialog).getByText("Do not push.")).toBeTruthy();
  const layer = rules.closest("details");
  expect(layer?.open).toBe(true);
  await user.click(rules);
  expect(layer?.open).toBe(false);
  await user.click(within(dialog).getByRole("button", { name: "Copy full prompt" }));
  expect(await navigator.clipboard.readText()).toBe("Do not push.\n\nFix it.");
  expect(await violations(container)).toEqual([]);
});
