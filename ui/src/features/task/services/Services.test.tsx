import { act, screen, waitFor, within } from "@testing-library/react";
import { beforeEach, describe, expect, it } from "vitest";
import type { Service, TaskService } from "#ui/api/generated.ts";
import { someTask, someWorkspace } from "../testing/fixtures.ts";
import { layOut, refuse, show, violations, type Answers } from "../testing/show.tsx";
import { mainService } from "./services.ts";

layOut();
beforeEach(() => {
  location.hash = "";
});

const someService = (changes: Partial<Service> = {}): Service => ({
  id: "s1",
  task_id: "t1",
  project_id: "p1",
  task_number: 42,
  task_title: "Rate-limit the login endpoint",
  name: "web",
  command: "npm run dev",
  state: "ready",
  reason: null,
  port: 4310,
  url: "http://localhost:4310/",
  log_id: "service-s1",
  started_by: "user:board",
  started_at: new Date().toISOString(),
  ready_at: new Date().toISOString(),
  ended_at: null,
  exit_code: null,
  stop_after_minutes: 60,
  ...changes,
});

const named = (last: Service | null, changes: Partial<TaskService> = {}): TaskService => ({
  name: "web",
  command: "npm run dev",
  start: "manual",
  last,
  ...changes,
});

const shown = (items: readonly TaskService[], more: Answers = {}) =>
  show(
    { task: someTask({ workspace: someWorkspace() }) },
    {
      task_services: () => ({ items, next_cursor: null }),
      task_log: () => ({ entries: [], first_seq: 0, last_seq: 0, total: 0 }),
      service_start: () => someService({ state: "starting" }),
      service_stop: () => ({ items, next_cursor: null }),
      ...more,
    },
  );

async function opened(items: readonly TaskService[], more: Answers = {}) {
  const panel = shown(items, more);
  await panel.user.click(await screen.findByRole("tab", { name: "Services" }));
  return panel;
}

const which = { task_id: "t1", name: "web" };

describe("the services of a task", () => {
  it("have a tab only where there is a worktree to run them in", async () => {
    let task = someTask({ workspace: someWorkspace() });
    const { platform } = shown([named(null)], { task_get: () => task });
    await screen.findByRole("tab", { name: "Services" });
    task = someTask({ workspace: null });
    act(() => platform.commit({ tags: ["task:t1"] }));
    await waitFor(() => expect(screen.queryByRole("tab", { name: "Services" })).toBeNull());
    expect(screen.queryByRole("button", { name: "Run" })).toBeNull();
  });

  it("have their address beside the button that opens them", async () => {
    shown([named(someService())]);
    const open = await screen.findByRole("button", { name: "Open web" });
    const address = screen.getByText("localhost:4310");
    expect(open.parentElement?.contains(address)).toBe(true);
    expect(address.title).toBe("http://localhost:4310/");
  });

  it("have no tab where the project names none", async () => {
    shown([]);
    await screen.findByRole("button", { name: "Run" });
    expect(screen.queryByRole("tab", { name: "Services" })).toBeNull();
  });

  it("are set up from their tab, for who is led there, where the project names none", async () => {
    location.hash = "#/board/p1?task=1&tab=services";
    const { user, container } = shown([]);
    await screen.findByRole("heading", { name: "No services" });
    expect(await violations(container)).toEqual([]);
    await user.click(screen.getByRole("button", { name: "Set up services" }));
    expect(location.hash).toBe("#/settings/project/p1?tab=services");
  });

  it("are set up from the button that would run one, by keyboard", async () => {
    const { user } = shown([named(null, { command: null, start: null })]);
    (await screen.findByRole("button", { name: "Run" })).focus();
    await user.keyboard("{Enter}");
    const popup = await screen.findByRole("dialog", { name: "No services" });
    expect(within(popup).getByText(/This project has no services/)).toBeTruthy();
    const setUp = within(popup).getByRole("button", { name: "Set up services" });
    await waitFor(() => expect(document.activeElement).toBe(setUp));
    await user.keyboard("{Enter}");
    expect(location.hash).toBe("#/settings/project/p1?tab=services");
  });

  it("restart when they have just ended by themselves", async () => {
    const { user, sent } = await opened([named(someService())], {
      service_stop: refuse("nothing_running", "web does not run"),
    });
    const web = screen.getByRole("region", { name: "web" });
    await user.click(within(web).getByRole("button", { name: "Restart web" }));
    await waitFor(() => expect(sent("service_start")).toEqual([which]));
    expect(within(web).queryByRole("alert")).toBeNull();
  });

  it("are not started again when they could not be stopped", async () => {
    const { user, sent } = await opened([named(someService())], {
      service_stop: refuse("internal", "the supervisor does not answer"),
    });
    const web = screen.getByRole("region", { name: "web" });
    await user.click(within(web).getByRole("button", { name: "Restart web" }));
    await within(web).findByText("the supervisor does not answer");
    expect(sent("service_start")).toEqual([]);
  });

  it("start, with the state and the command told", async () => {
    const { user, sent, container } = await opened([named(null)]);
    const web = screen.getByRole("region", { name: "web" });
    expect(within(web).getByText("Not started")).toBeTruthy();
    expect(within(web).getByText("npm run dev")).toBeTruthy();
    await user.click(within(web).getByRole("button", { name: "Run web" }));
    await waitFor(() => expect(sent("service_start")).toEqual([which]));
    expect(await violations(container)).toEqual([]);
  });

  it("open in the browser once they are ready, are restarted and stopped", async () => {
    const { user, sent, platform } = await opened([named(someService())]);
    const web = screen.getByRole("region", { name: "web" });
    expect(within(web).getByText("http://localhost:4310/")).toBeTruthy();
    await user.click(within(web).getByRole("button", { name: "Open web" }));
    expect(platform.opened).toContainEqual({ kind: "external", target: "http://localhost:4310/" });
    await user.click(within(web).getByRole("button", { name: "Restart web" }));
    await waitFor(() => expect(sent("service_start")).toEqual([which]));
    await user.click(within(web).getByRole("button", { name: "Stop web" }));
    await waitFor(() => expect(sent("service_stop")).toEqual([which, which]));
  });

  it("run and open from the head of the task, and from the banner of a review that waits", async () => {
    const run = shown([named(null)]);
    await run.user.click(await screen.findByRole("button", { name: "Run web" }));
    await waitFor(() => expect(run.sent("service_start")).toEqual([which]));
    run.unmount();
    const waits = someTask({
      status: "review",
      workspace: someWorkspace(),
      review: {
        attempt_number: 1,
        status: "awaiting_human",
        verdict: null,
        reviewed_commit: null,
      },
    });
    const open = show(
      { task: waits },
      { task_services: () => ({ items: [named(someService())], next_cursor: null }) },
    );
    await open.user.click(await screen.findByRole("button", { name: "Open web" }));
    expect(open.platform.opened).toHaveLength(1);
  });

  it("that failed say so in the banner of a review that waits", async () => {
    const reason = "Ended with exit code 3: no such module";
    const waits = someTask({
      status: "review",
      workspace: someWorkspace(),
      review: {
        attempt_number: 1,
        status: "awaiting_human",
        verdict: null,
        reviewed_commit: null,
      },
    });
    show(
      { task: waits },
      {
        task_services: () => ({
          items: [named(someService({ state: "failed", reason }))],
          next_cursor: null,
        }),
      },
    );
    expect(await screen.findByText(`web failed: ${reason}`)).toBeTruthy();
  });

  it("tell why they failed, and why one could not be started", async () => {
    const reason = "Port 4310 is in use by node (process 7)";
    const failed = named(
      someService({ state: "failed", reason, ended_at: "2026-01-01T00:00:00Z" }),
    );
    const { user } = await opened([failed], {
      service_start: refuse("services_full", "4 services run already"),
    });
    const web = screen.getByRole("region", { name: "web" });
    expect(within(web).getByText("Failed")).toBeTruthy();
    expect(within(web).getByText(reason)).toBeTruthy();
    await user.click(within(web).getByRole("button", { name: "Run web" }));
    await within(web).findByText("4 services run already");
  });

  it("that the project does not name any more can only be stopped", async () => {
    await opened([named(someService(), { command: null, start: null })]);
    const web = screen.getByRole("region", { name: "web" });
    expect(within(web).queryByRole("button", { name: "Restart web" })).toBeNull();
    expect(within(web).getByRole("button", { name: "Stop web" })).toBeTruthy();
  });
});

describe("the service of a button", () => {
  it("is the one that runs, else the first that the project names", () => {
    const gone = named(null, { name: "gone", command: null });
    const first = named(null, { name: "first" });
    const running = named(someService(), { name: "running" });
    expect(mainService([gone, first, running])).toBe(running);
    expect(mainService([gone, first])).toBe(first);
    expect(mainService([gone])).toBeUndefined();
  });
});
