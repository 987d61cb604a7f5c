import { render, screen } from "@testing-library/react";
import { describe, expect, it } from "vitest";
import { TooltipProvider } from "#ui/components/Tooltip.tsx";
import { sampleUsageOf } from "#ui/test/sampleRuns.ts";
import type { Execution } from "#ui/api/generated.ts";
import { someExecution } from "../testing/fixtures.ts";
import { ExecutionHead } from "./ExecutionHead.tsx";

const head = (change: Partial<Execution>) =>
  render(
    <TooltipProvider>
      <ExecutionHead execution={someExecution(change)} agent="Codex" empty={false} />
    </TooltipProvider>,
  ).container.textContent;

describe("the head of a run", () => {
  it("says what it cost and how that is known", () => {
    expect(head({ cost_micro_usd: 420_000, cost_source: "reported" })).toContain("$0.42 reported");
    expect(head({})).toContain("cost unknown");
    expect(head({ status: "running", finished_at: null })).not.toContain("cost");
  });

  it("names the prices that a cost was computed by", () => {
    head({ cost_micro_usd: 420_000, cost_source: "computed", price_version: "2026-11-02" });
    const cost = screen.getByText("$0.42 estimated");
    expect(cost.getAttribute("aria-description")).toContain("prices of 2026-11-02");
  });

  it("names the variables that were withheld, and says nothing without one", () => {
    expect(head({ withheld: ["DB_PASSWORD", "NPM_TOKEN"] })).toContain(
      "Withheld variables: DB_PASSWORD, NPM_TOKEN",
    );
    expect(head({ withheld: [] })).not.toContain("Withheld");
  });

  it("names the models and how it came to its session", () => {
    const said = head({
      models: [sampleUsageOf({ model: "big" }), sampleUsageOf({ model: "small" })],
      session_id: "session-b",
      session_mode: "fork",
      from_session: "session-a",
    });
    expect(said).toContain("big, small");
    expect(said).toContain("Forked from session session-a: session-b");
    expect(head({ session_id: "s1" })).toContain("New session s1");
    expect(head({ session_id: "s2", session_mode: "resume", from_session: "s2" })).toContain(
      "Resumed session s2",
    );
  });
});
