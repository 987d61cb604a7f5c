import { screen, waitFor, within } from "@testing-library/react";
import { describe, expect, it } from "vitest";
// Loaded before the tests: as a chunk it may take longer than a test has.
import "./BoardScreen.tsx";
import type { Service } from "#ui/api/generated.ts";
import { pageOf } from "#ui/test/answers.ts";
import { inputsOf, openApp } from "#ui/test/renderApp.tsx";
import { createSampleHost } from "#ui/test/sampleHost.ts";

const web: Service = {
  id: "s1",
  task_id: "t1",
  project_id: "p1",
  task_number: 1,
  task_title: "Served",
  name: "web",
  command: "npm run dev",
  state: "ready",
  reason: null,
  port: 4310,
  url: "http://localhost:4310/",
  log_id: "service-s1",
  started_by: "user:board",
  started_at: "2026-01-01T00:00:00Z",
  ready_at: "2026-01-01T00:00:01Z",
  ended_at: null,
  exit_code: null,
  stop_after_minutes: 60,
};

describe("a card", () => {
  it("has a mark while a service of its task runs, and all cards ask but once", async () => {
    const host = createSampleHost(null, 20);
    openApp(host, "#/board/p1");
    const card = await screen.findByRole("button", { name: /^#1 / });
    expect(within(card).queryByTitle("Service running: web")).toBeNull();
    expect(inputsOf(host, "service_list")).toHaveLength(1);
    host.answer("service_list", pageOf([web]));
    host.commit({ tags: ["services"] });
    await waitFor(() => expect(within(card).getByTitle("Service running: web")).toBeTruthy());
    expect(screen.getAllByTitle("Service running: web")).toHaveLength(1);
  });
});
