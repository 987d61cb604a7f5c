import { screen, within } from "@testing-library/react";
import { expect, it } from "vitest";
import { sampleReview, sampleStep } from "#ui/test/sampleReview.ts";
import { someTask } from "../testing/fixtures.ts";
import { layOut, show, violations } from "../testing/show.tsx";

layOut();

const awaiting = someTask({
  status: "review",
  review: { attempt_number: 2, status: "awaiting_human", verdict: null, reviewed_commit: null },
});
const step = (index: number, command: string, exit_code: number) =>
  sampleStep({ index, command, exit_code, finished: true, duration_ms: 2_000 });

it("tells beside the decision how the checks of the newest attempt ended", async () => {
  const { user, container } = show({
    task: awaiting,
    reviews: [
      sampleReview({
        attempt_number: 2,
        steps: [step(0, "npm test", 0), step(1, "npm run lint", 1)],
      }),
      sampleReview({ attempt_number: 1, steps: [step(0, "old check", 1)] }),
    ],
  });
  const banner = await screen.findByRole("alert", { name: "Ready for your review" });
  const list = await within(banner).findByRole("list", { name: "Checks" });
  expect(
    within(list)
      .getAllByRole("listitem")
      .map(({ textContent }) => textContent),
  ).toEqual(["Passed: npm test2s", "Failed: npm run lint2s"]);
  expect(await violations(container)).toEqual([]);
  await user.click(within(banner).getByRole("button", { name: "Show checks" }));
  await screen.findByRole("tab", { name: "Review", selected: true });
});

it("says nothing of checks where none ran", async () => {
  show({ task: awaiting, reviews: [sampleReview({ attempt_number: 2, steps: [] })] });
  const banner = await screen.findByRole("alert", { name: "Ready for your review" });
  expect(within(banner).queryByRole("list", { name: "Checks" })).toBeNull();
});
