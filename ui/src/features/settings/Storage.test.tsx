import { QueryClientProvider } from "@tanstack/react-query";
import { render, screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { describe, expect, it } from "vitest";
import { createQueryClient } from "#ui/api/operations.tsx";
import { StorageBanner } from "#ui/app/StorageBanner.tsx";
import { ToastHost } from "#ui/components/Toast.tsx";
import { TooltipProvider } from "#ui/components/Tooltip.tsx";
import { PlatformProvider } from "#ui/platform/PlatformContext.tsx";
import { inputsOf, violationsIn } from "#ui/test/renderApp.tsx";
import { createSampleHost } from "#ui/test/sampleHost.ts";
import {
  lowStorage,
  sampleBackups,
  sampleQuestion,
  sampleStorage,
} from "#ui/test/sampleStorage.ts";
import { Storage } from "./Storage.tsx";

function open(sample: string | null = null) {
  location.hash = "#/settings";
  const host = createSampleHost(sample, 0);
  const shown = render(
    <PlatformProvider platform={host}>
      <QueryClientProvider client={createQueryClient()}>
        <TooltipProvider>
          <ToastHost>
            <StorageBanner />
            <Storage />
          </ToastHost>
        </TooltipProvider>
      </QueryClientProvider>
    </PlatformProvider>,
  );
  return { host, user: userEvent.setup(), ...shown };
}

describe("the banner", () => {
  it("is absent while storage is in order", async () => {
    const { container } = open();
    await screen.findByText("84 GB of 250 GB");
    expect(screen.queryByRole("alert")).toBeNull();
    expect(await violationsIn(container)).toEqual([]);
  });

  it("says that the disk is full, and what helps", async () => {
    open("full");
    const alert = await screen.findByRole("alert", { name: "The disk is full" });
    expect(alert.textContent).toContain("Running agents wait");
    expect(alert.textContent).toContain("Free some space");
  });

  it("says before that little space is left", async () => {
    open("low");
    const alert = await screen.findByRole("alert", { name: "Low disk space" });
    expect(alert.textContent).toContain("700 MB free");
  });
});

describe("a restore that failed", () => {
  it("says why, and that the former database is in use", async () => {
    open("low");
    const alert = await screen.findByRole("alert", {
      name: "Could not restore the selected backup",
    });
    expect(alert.textContent).toContain("Could not find the backup");
    expect(alert.textContent).toContain("is using the database from before");
  });
});

describe("retention", () => {
  it("is saved by days", async () => {
    const { host, user } = open();
    const field = await screen.findByRole("textbox", { name: /Keep logs of closed tasks/ });
    await user.clear(field);
    await user.type(field, "30{Enter}");
    await waitFor(() =>
      expect(inputsOf(host, "storage_update")).toEqual([
        { retention: { logs_days: 30, events_days: 90 } },
      ]),
    );
  });

  it("asks before more than half is deleted", async () => {
    const { host, user } = open("low");
    const question = await screen.findByRole("alert", { name: "Delete old logs?" });
    expect(question.textContent).toContain("60 of 80");
    const kept = lowStorage({ questions: [sampleQuestion({ answer: "keep" })] });
    host.after("storage_answer", kept, () => host.answer("storage_get", kept), "storage");
    await user.click(within(question).getByRole("button", { name: "Keep" }));
    expect(inputsOf(host, "storage_answer")).toEqual([{ kind: "logs", answer: "keep" }]);
    await screen.findByText(/You can still delete them/);
  });
});

describe("a backup", () => {
  it("is restored at the next start, after a question", async () => {
    const { host, user, container } = open();
    const [, backup] = sampleBackups();
    if (!backup) throw new Error("there is no backup");
    const pending = sampleStorage({ restore_pending: backup.name });
    const restore = { backup, restart_required: true };
    const next = () => host.answer("storage_get", pending);
    host.after("database_backup_restore", restore, next, "storage");
    await user.click(await screen.findByRole("button", { name: "Restore backup 000002-daily" }));
    const dialog = await screen.findByRole("alertdialog");
    expect(dialog.textContent).toContain("set aside, not deleted");
    await user.click(within(dialog).getByRole("button", { name: "Restore" }));
    expect(inputsOf(host, "database_backup_restore")).toEqual([{ name: "000002-daily" }]);
    await screen.findByText(/000002-daily will be restored when Forge next starts/);
    expect(await violationsIn(container)).toEqual([]);
  });

  it("is made by hand", async () => {
    const { host, user } = open();
    await user.click(await screen.findByRole("button", { name: "Back up now" }));
    await waitFor(() => expect(inputsOf(host, "database_backup_create")).toHaveLength(1));
  });
});
