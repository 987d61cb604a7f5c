import { render, screen } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { describe, expect, it } from "vitest";
import type { Execution, SandboxReport } from "#ui/api/generated.ts";
import { TooltipProvider } from "#ui/components/Tooltip.tsx";
import { violationsIn } from "#ui/test/violations.ts";
import { someExecution } from "../testing/fixtures.ts";
import { ExecutionHead } from "./ExecutionHead.tsx";
import { createUnfolded, RowContext } from "./RowContext.ts";

const head = (execution: Execution, unfolded = createUnfolded()) =>
  render(
    <TooltipProvider>
      <RowContext
        value={{ taskId: "t1", unfolded, approvals: [], names: new Map(), onLink: () => {} }}
      >
        <ExecutionHead execution={execution} agent="Codex" empty={false} />
      </RowContext>
    </TooltipProvider>,
  ).container;

const confined = (change: Partial<SandboxReport> = {}) =>
  someExecution({
    sandbox: {
      mode: "files",
      state: "enforced",
      refused: 0,
      paths: [],
      kept_refs: [],
      ...change,
    },
  });

const warned = (container: Element) =>
  [...container.querySelectorAll("svg.lucide-triangle-alert")].map(({ parentElement: said }) =>
    said?.textContent?.trim(),
  );

describe("the sandbox of a run", () => {
  it.each<[Partial<SandboxReport>, string]>([
    [{ mode: "off" }, "Sandbox: off"],
    [{ mode: "files" }, "Sandbox: files"],
    [{ mode: "files_and_network" }, "Sandbox: files and network"],
    [{ state: "own" }, "Sandbox: the agent confines its own commands"],
  ])("%j is one quiet line: %s", async (report, said) => {
    const container = head(confined(report));
    expect(screen.getByText(said)).toBeTruthy();
    expect(container.textContent).not.toContain("refused");
    expect(container.textContent).not.toContain("kept");
    expect(warned(container)).toEqual([]);
    expect(await violationsIn(container, "region")).toEqual([]);
  });

  it.each<[Partial<SandboxReport>, string]>([
    [
      { mode: "files_and_network", state: "files_only" },
      "Sandbox: files only. This kernel cannot restrict the network.",
    ],
    [{ state: "missing" }, "No sandbox: this kernel has no Landlock"],
  ])("%j is a warning: %s", async (report, said) => {
    const container = head(confined(report));
    expect(warned(container)).toEqual([said]);
    expect(await violationsIn(container, "region")).toEqual([]);
  });

  it("is not mentioned for a run without one, or from before there was one", () => {
    expect(head(someExecution({ sandbox: null })).textContent).not.toMatch(/sandbox/i);
    const { sandbox: _, ...older } = someExecution();
    expect(head(older as Execution).textContent).not.toMatch(/sandbox/i);
  });

  it("names the paths that were refused", async () => {
    const paths = ["/home/me/.npmrc", "/home/me/.ssh/id_ed25519"];
    const container = head(confined({ refused: 3, paths }));
    expect(warned(container)).toEqual([
      "3 reads or writes refused: /home/me/.npmrc, /home/me/.ssh/id_ed25519",
    ]);
    expect([...container.querySelectorAll("code")].map((code) => code.textContent)).toEqual(paths);
    expect(screen.queryByRole("button")).toBeNull();
    expect(await violationsIn(container, "region")).toEqual([]);
  });

  it("counts what was refused where no path is known", () => {
    expect(warned(head(confined({ refused: 1 })))).toEqual(["1 read or write refused"]);
  });

  it("folds a long list of paths, and keeps it unfolded when the row is drawn again", async () => {
    const paths = Array.from({ length: 40 }, (_, index) => `/etc/file-${index + 1}`);
    const execution = confined({ refused: 52, paths });
    const unfolded = createUnfolded();
    const container = head(execution, unfolded);
    expect(container.querySelectorAll("code")).toHaveLength(4);
    await userEvent.click(screen.getByRole("button", { name: "Show all 40 paths" }));
    expect(container.querySelectorAll("code")).toHaveLength(40);
    expect(await violationsIn(container, "region")).toEqual([]);
    expect(head(execution, unfolded).querySelectorAll("code")).toHaveLength(40);
    const [button] = screen.getAllByRole("button", { name: "Show fewer" });
    await userEvent.click(button as HTMLElement);
    expect(container.querySelectorAll("code")).toHaveLength(4);
  });

  it("names the refs that keep changes to other branches", async () => {
    const ref = "refs/forge/kept/e1/main";
    const container = head(confined({ kept_refs: [ref] }));
    expect(container.textContent).toContain(`Changes to other branches were kept as ${ref}`);
    expect(screen.getByText(ref).tagName).toBe("CODE");
    expect(await violationsIn(container, "region")).toEqual([]);
  });
});
