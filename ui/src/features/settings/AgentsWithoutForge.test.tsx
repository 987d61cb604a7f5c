import { QueryClientProvider } from "@tanstack/react-query";
import { render, screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { describe, expect, it } from "vitest";
import { createQueryClient } from "#ui/api/operations.tsx";
import { ToastHost } from "#ui/components/Toast.tsx";
import { TooltipProvider } from "#ui/components/Tooltip.tsx";
import { PlatformProvider } from "#ui/platform/PlatformContext.tsx";
import { refuse } from "#ui/test/answers.ts";
import { inputsOf, violationsIn } from "#ui/test/renderApp.tsx";
import { createSampleHost } from "#ui/test/sampleHost.ts";
import { AgentsWithoutForge } from "./AgentsWithoutForge.tsx";

function open(sample: string | null = null) {
  location.hash = "#/settings";
  const host = createSampleHost(sample, 0);
  const shown = render(
    <PlatformProvider platform={host}>
      <QueryClientProvider client={createQueryClient()}>
        <TooltipProvider>
          <ToastHost>
            <AgentsWithoutForge />
          </ToastHost>
        </TooltipProvider>
      </QueryClientProvider>
    </PlatformProvider>,
  );
  return { host, user: userEvent.setup(), ...shown };
}

const minutes = () =>
  screen.findByRole<HTMLInputElement>("textbox", {
    name: "Minutes agents keep running without Forge",
  });

describe("the time that agents keep running without Forge", () => {
  it("is shown and saved", async () => {
    const { host, user, container } = open();
    const field = await minutes();
    expect(field.value).toBe("30");
    expect(screen.queryByRole("button", { name: "Save" })).toBeNull();
    const changed = { orphan_minutes: 10, services_max: 4, terminal_remote: false };
    const next = () => host.answer("settings_get", changed);
    host.after("settings_update", changed, next, "settings");
    await user.clear(field);
    await user.type(field, "10{Enter}");
    await waitFor(() =>
      expect(inputsOf(host, "settings_update")).toEqual([{ orphan_minutes: 10 }]),
    );
    await waitFor(() => expect(screen.queryByRole("button", { name: "Save" })).toBeNull());
    expect(field.value).toBe("10");
    expect(await violationsIn(container)).toEqual([]);
  });

  it("is kept as it was typed when it is refused, with the reason, until it is discarded", async () => {
    const { host, user } = open();
    const message = "orphan_minutes must be a whole number from 0 to 10080";
    host.answer("settings_update", () => refuse("invalid", message));
    const field = await minutes();
    await user.clear(field);
    await user.type(field, "10081{Enter}");
    await screen.findByText(message);
    expect(screen.getByText("Could not save the setting")).toBeTruthy();
    expect(field.value).toBe("10081");
    await user.click(screen.getByRole("button", { name: "Discard" }));
    await waitFor(() => expect(field.value).toBe("30"));
  });

  it("that cannot be read is an error that can be tried again", async () => {
    const { host, user } = open("broken");
    const alert = await screen.findByRole("alert");
    expect(alert.textContent).toContain("Could not load the setting");
    const reads = inputsOf(host, "settings_get").length;
    await user.click(within(alert).getByRole("button", { name: "Try again" }));
    await waitFor(() => expect(inputsOf(host, "settings_get").length).toBeGreaterThan(reads));
  });
});
