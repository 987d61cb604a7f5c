import { QueryClientProvider } from "@tanstack/react-query";
import { render, screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it, vi } from "vitest";
import { createQueryClient } from "#ui/api/operations.tsx";
import type { TrustFile } from "#ui/api/generated.ts";
import { TooltipProvider } from "#ui/components/Tooltip.tsx";
import { createFakePlatform } from "#ui/platform/fake.ts";
import { PlatformProvider } from "#ui/platform/PlatformContext.tsx";
import { violationsIn } from "#ui/test/renderApp.tsx";
import { sampleTrustFile, sampleTrustFiles } from "#ui/test/sampleTrust.ts";
import { keyOf, linesOf, startOf } from "./files.ts";
import { TrustDialog } from "./TrustDialog.tsx";

function open(files: () => readonly TrustFile[], accept: () => unknown = () => ({})) {
  const listing = () => ({
    trusted: files().every(({ accepted }) => accepted),
    commit: "9f4c1d27ab",
    files: files(),
  });
  const platform = createFakePlatform({ project_trust: listing, project_trust_accept: accept });
  const onOpenChange = vi.fn<(open: boolean) => void>();
  render(
    <PlatformProvider platform={platform}>
      <QueryClientProvider client={createQueryClient()}>
        <TooltipProvider>
          <TrustDialog projectId="p1" taskId="t1" open onOpenChange={onOpenChange} />
        </TooltipProvider>
      </QueryClientProvider>
    </PlatformProvider>,
  );
  const sent = (op: string) =>
    platform.calls.filter((call) => call.op === op).map(({ input }) => input);
  return { onOpenChange, sent, user: userEvent.setup() };
}

it("shows what is not trusted first, and any other file when it is chosen", async () => {
  const { user } = open(sampleTrustFiles);
  const dialog = await screen.findByRole("dialog", { name: "Startup files" });
  const list = await within(dialog).findByRole("list", { name: "Startup files" });
  const files = within(list).getAllByRole("button");
  expect(files.map(({ textContent }) => textContent)).toEqual([
    ".claude/settings.jsonTrusted",
    ".envrcRemoved",
    ".mcp.jsonChanged",
    ".opencode/plugin/notify.tsNew",
  ]);
  await waitFor(() => expect(document.activeElement).toBe(files[0]));
  const current = () => files.filter((file) => file.getAttribute("aria-current") === "true");
  expect(current()).toEqual([files[1]]);
  expect(dialog.textContent).toContain("-use flake");
  // By keyboard as by pointer.
  files[2]?.focus();
  await user.keyboard("{Enter}");
  expect(current()).toEqual([files[2]]);
  const content = within(dialog).getByRole("region", { name: ".mcp.json" });
  expect(content.textContent).toContain("In commit 9f4c1d27ab of the task's branch");
  expect(content.textContent).toContain('+    "db": { "command": "npx", "args": ["db-mcp@2"] }');
  await user.click(within(dialog).getByRole("button", { name: /notify\.ts/ }));
  expect(dialog.textContent).toContain("In the task's worktree, not committed");
  expect(dialog.textContent).toContain("export const Notify");
  expect(await violationsIn(document.body)).toEqual([]);
});

it("trusts exactly the contents that were shown", async () => {
  const { onOpenChange, sent, user } = open(sampleTrustFiles);
  await user.click(await screen.findByRole("button", { name: "Trust these files" }));
  await waitFor(() => expect(onOpenChange).toHaveBeenCalledWith(false));
  expect(sent("project_trust_accept")).toEqual([
    {
      project_id: "p1",
      task_id: "t1",
      files: [
        { path: ".envrc", sha256: null },
        { path: ".mcp.json", sha256: "2b".repeat(32) },
        { path: ".opencode/plugin/notify.ts", sha256: "3c".repeat(32) },
      ],
    },
  ]);
});

it("shows the files anew when one changed after the look", async () => {
  let reads = 0;
  const files = () => [sampleTrustFile({ diff: "", content: `content ${(reads += 1)}\n` })];
  const { onOpenChange, user } = open(files, () => {
    throw {
      code: "trust_changed",
      message: "Could not trust the files: .mcp.json changed since they were shown.",
      hints: [],
      details: null,
    };
  });
  const before = await screen.findByText(/content \d/);
  const shown = before.textContent;
  await user.click(screen.getByRole("button", { name: "Trust these files" }));
  await screen.findByText(/changed since they were shown/);
  await waitFor(() => expect(screen.getByText(/content \d/).textContent).not.toBe(shown));
  expect(onOpenChange).not.toHaveBeenCalled();
});

it("asks nothing where everything is trusted, and says when there is nothing", async () => {
  open(() => sampleTrustFiles().slice(0, 1));
  await screen.findByText(".claude/settings.json", { selector: "figcaption" });
  expect(screen.queryByRole("button", { name: "Trust these files" })).toBeNull();
});

it("says when programs run no code from the repository", async () => {
  open(() => []);
  const dialog = await screen.findByRole("dialog", { name: "Startup files" });
  await within(dialog).findByText("This repository has no startup files.");
  expect(within(dialog).queryByRole("button", { name: "Trust these files" })).toBeNull();
});

it("starts with a file that nobody trusted, and shows differences before texts", () => {
  const files = sampleTrustFiles();
  expect(startOf(files)?.path).toBe(".envrc");
  expect(startOf(files.slice(0, 1))?.path).toBe(".claude/settings.json");
  expect(startOf([])).toBeUndefined();
  expect(new Set(files.map(keyOf)).size).toBe(4);
  expect(linesOf(sampleTrustFile({ diff: "@@ -1 +1 @@\n-a\n+b\n" }))).toEqual([
    { text: "@@ -1 +1 @@", kind: "place" },
    { text: "-a", kind: "removed" },
    { text: "+b", kind: "added" },
  ]);
  expect(linesOf(sampleTrustFile({ diff: "", content: "-a\n" }))).toEqual([
    { text: "-a", kind: "same" },
  ]);
  expect(linesOf(sampleTrustFile({ diff: "", content: null }))).toBeNull();
});
