/** The panel over the parts given, as its tests look at it. */
import { QueryClientProvider } from "@tanstack/react-query";
import { render } from "@testing-library/react";
import userEvent from "@testing-library/user-event";
import { beforeEach, vi } from "vitest";
import { followChanges } from "#ui/api/changes.ts";
import { createQueryClient } from "#ui/api/operations.tsx";
import { installKeys } from "#ui/app/keys.ts";
import { ToastHost } from "#ui/components/Toast.tsx";
import { TooltipProvider } from "#ui/components/Tooltip.tsx";
import { createFakePlatform } from "#ui/platform/fake.ts";
import { PlatformProvider } from "#ui/platform/PlatformContext.tsx";
import { violationsIn } from "#ui/test/violations.ts";
// The window loads it when it is asked for; here no test's clock is to pay for that.
import "../diff/DiffTab.tsx";
import { TaskPanel } from "../TaskPanel.tsx";
import { answersFor } from "./fixtures.ts";

/** jsdom lays nothing out; the windowed lists need a window and rows with a height. */
export function layOut(): void {
  beforeEach(() => {
    vi.spyOn(HTMLElement.prototype, "offsetHeight", "get").mockImplementation(function (
      this: HTMLElement,
    ) {
      return this.dataset["index"] === undefined ? 900 : 24;
    });
    vi.spyOn(Element.prototype, "clientHeight", "get").mockReturnValue(900);
    vi.spyOn(Element.prototype, "clientWidth", "get").mockReturnValue(600);
  });
}

type Parts = Parameters<typeof answersFor>[0];
export type Answers = Record<string, (input: never) => unknown>;

export function show(parts: Parts, more: Answers = {}) {
  const platform = createFakePlatform({ ...answersFor(parts), ...more });
  const client = createQueryClient();
  followChanges(client, platform.onChanges, (run) => run());
  const dropKeys = installKeys(window);
  const shown = render(
    <PlatformProvider platform={platform}>
      <QueryClientProvider client={client}>
        <TooltipProvider>
          <ToastHost>
            <TaskPanel projectId="p1" taskId="t1" mode="panel" onClose={() => {}} />
          </ToastHost>
        </TooltipProvider>
      </QueryClientProvider>
    </PlatformProvider>,
  );
  const sent = (op: string) =>
    platform.calls.filter((call) => call.op === op).map(({ input }) => input);
  return { platform, sent, dropKeys, user: userEvent.setup(), ...shown };
}

export const refuse = (code: string, message: string) => () => {
  throw { code, message, hints: ["Do this instead."], details: null };
};

/** The panel alone has no landmarks of the window. */
export const violations = (container: HTMLElement): Promise<string[]> =>
  violationsIn(container, "region");
