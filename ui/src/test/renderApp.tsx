/** The whole window over a sample host, as a test looks at it. */
import { act, render } from "@testing-library/react";
import axe from "axe-core";
import { vi } from "vitest";
import { createQueryClient } from "#ui/api/operations.tsx";
import { App } from "#ui/app/App.tsx";
import { preferences } from "#ui/store/preferences.ts";
import { showOverlay } from "#ui/store/overlays.ts";
import type { SampleHost } from "./sampleHost.ts";

/** jsdom lays nothing out: without a height a windowed list shows no row. */
export function giveHeight(height = 720): void {
  vi.spyOn(Element.prototype, "clientHeight", "get").mockReturnValue(height);
  vi.spyOn(Element.prototype, "clientWidth", "get").mockReturnValue(280);
}

export function openApp(host: SampleHost, hash: string) {
  act(() => {
    preferences.setState({ theme: "system", sidebarCollapsed: false, lastProject: null });
    showOverlay(null);
  });
  giveHeight();
  location.hash = hash;
  return render(<App platform={host} queryClient={createQueryClient()} />);
}

export function inputsOf(host: SampleHost, op: string): unknown[] {
  return host.calls.filter((call) => call.op === op).map(({ input }) => input);
}

/** What axe finds, as text; contrast is measured on the tokens, since it needs layout. */
export async function violationsIn(container: Element): Promise<string[]> {
  const { violations } = await axe.run(container, {
    rules: { "color-contrast": { enabled: false } },
  });
  return violations.map(
    ({ id, nodes }) => `${id}: ${nodes.map((node) => node.html.slice(0, 300)).join("\n")}`,
  );
}
