import { QueryClientProvider } from "@tanstack/react-query";
import { render, screen, waitFor, within } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { expect, it } from "vitest";
import { createQueryClient } from "#ui/api/operations.tsx";
import { ToastHost } from "#ui/components/Toast.tsx";
import { TooltipProvider } from "#ui/components/Tooltip.tsx";
import { PlatformProvider } from "#ui/platform/PlatformContext.tsx";
import { inputsOf, violationsIn } from "#ui/test/renderApp.tsx";
import { createSampleHost } from "#ui/test/sampleHost.ts";
import { Health } from "./Health.tsx";

function open() {
  const host = createSampleHost(null, 0);
  const shown = render(
    <PlatformProvider platform={host}>
      <QueryClientProvider client={createQueryClient()}>
        <TooltipProvider>
          <ToastHost>
            <Health />
          </ToastHost>
        </TooltipProvider>
      </QueryClientProvider>
    </PlatformProvider>,
  );
  return { host, user: userEvent.setup(), ...shown };
}

it("looks at the computer only when asked, and shows problems first, with what helps", async () => {
  const { host, user, container } = open();
  expect(inputsOf(host, "doctor")).toEqual([]);
  await user.click(screen.getByRole("button", { name: "Check" }));
  const problem = await screen.findByRole("alert", { name: "Problem: agent Gemini" });
  within(problem).getByText("Install the program, or set its path in the agent's profile.");
  expect(screen.getByRole("status").textContent).toBe("1 problem");
  const sandbox = screen.getByText("sandbox");
  expect(problem.compareDocumentPosition(sandbox)).toBe(Node.DOCUMENT_POSITION_FOLLOWING);
  expect(await violationsIn(container)).toEqual([]);

  host.answer("doctor", { ok: true, findings: [] });
  await user.click(screen.getByRole("button", { name: "Check" }));
  await screen.findByText("No problems found");
});

it("says why the computer could not be looked at, and saves the diagnostics as a file", async () => {
  const { host, user } = open();
  host.answer("doctor", () => {
    throw new Error("the database is locked");
  });
  await user.click(screen.getByRole("button", { name: "Check" }));
  await screen.findByText("Could not check this computer");

  await user.click(screen.getByRole("button", { name: "Save diagnostics…" }));
  await waitFor(() =>
    expect(host.saved).toEqual([{ name: "forge-diagnostics.md", text: "# Forge diagnostics\n" }]),
  );
  await screen.findByText("Saved the diagnostics");
});
