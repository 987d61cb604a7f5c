import { act, screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { afterEach, expect, it, vi } from "vitest";
// Loaded before the tests: as a chunk it may take longer than a test has.
import "./RunsScreen.tsx";
import { inputsOf, openApp, violationsIn } from "#ui/test/renderApp.tsx";
import { pageOf } from "#ui/test/answers.ts";
import { sampleRunsAt } from "#ui/test/sampleAgents.ts";
import { createSampleHost } from "#ui/test/sampleHost.ts";

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

it("lists what runs with its processes, and stops agents and checks", async () => {
  const host = createSampleHost("agents");
  const { container } = openApp(host, "#/runs");
  const list = await screen.findByRole("list", { name: "Runs" });
  expect(list.textContent).toContain("Cache the parsed configuration");
  expect(list.textContent).toContain("cargo test --workspace");
  const toggle = within(list).getByRole("button", {
    name: "3 processes of Cache the parsed configuration",
  });
  await userEvent.click(toggle);
  const tree = within(list).getByRole("list", { name: /Processes of/ });
  expect(within(tree).getAllByRole("listitem")).toHaveLength(3);
  expect(await violationsIn(container)).toEqual([]);
  await userEvent.click(
    within(list).getByRole("button", { name: "Stop Cache the parsed configuration" }),
  );
  await userEvent.click(
    within(list).getByRole("button", { name: "Stop the checks of Approve me" }),
  );
  expect(inputsOf(host, "execution_stop")).toEqual([{ execution_id: "e2" }]);
  expect(inputsOf(host, "review_cancel")).toEqual([{ task_id: "t7" }]);
});

it("looks every two seconds while it is in sight, and not otherwise", async () => {
  vi.useFakeTimers({ shouldAdvanceTime: true });
  const host = createSampleHost("agents");
  let look = 0;
  host.answer("run_list", () => pageOf(sampleRunsAt((look += 1))));
  const { unmount } = openApp(host, "#/runs");
  await screen.findByRole("list", { name: "Runs" });
  const looks = () => inputsOf(host, "run_list").length;
  const first = looks();
  await act(() => vi.advanceTimersByTimeAsync(4_200));
  const seen = looks();
  expect(seen).toBeGreaterThanOrEqual(first + 2);
  await waitFor(() =>
    expect(screen.getByRole("list", { name: "Runs" }).textContent).toMatch(/\d%/),
  );

  const visible = vi.spyOn(document, "visibilityState", "get").mockReturnValue("hidden");
  act(() => void document.dispatchEvent(new Event("visibilitychange")));
  const hidden = looks();
  await act(() => vi.advanceTimersByTimeAsync(10_000));
  expect(looks()).toBe(hidden);
  visible.mockReturnValue("visible");
  act(() => void document.dispatchEvent(new Event("visibilitychange")));
  await act(() => vi.advanceTimersByTimeAsync(2_100));
  expect(looks()).toBeGreaterThan(hidden);
  unmount();
  const gone = looks();
  await act(() => vi.advanceTimersByTimeAsync(10_000));
  expect(looks()).toBe(gone);
});

it("says when nothing runs, and is reached by its keys", async () => {
  openApp(createSampleHost("new"), "#/agents");
  await screen.findByRole("heading", { level: 1, name: "Agents" });
  await userEvent.keyboard("gr");
  expect(await screen.findByText("Nothing is running")).toBeTruthy();
});
