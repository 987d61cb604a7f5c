/** The whole window over a sample host, as a test looks at it. */
import { act, render } from "@testing-library/react";
import { vi } from "vitest";
import { createQueryClient } from "#ui/api/operations.tsx";
import { App } from "#ui/app/App.tsx";
import { preferences } from "#ui/store/preferences.ts";
import { showOverlay } from "#ui/store/overlays.ts";
import type { SampleHost } from "./sampleHost.ts";

export { violationsIn } from "./violations.ts";

/** jsdom lays nothing out: without a height a windowed list shows no row. */
export function giveHeight(height = 720): void {
  vi.spyOn(Element.prototype, "clientHeight", "get").mockReturnValue(height);
  vi.spyOn(Element.prototype, "clientWidth", "get").mockReturnValue(280);
}

export function openApp(host: SampleHost, hash: string) {
  act(() => {
    preferences.setState({ sidebarCollapsed: false, lastProject: null });
    showOverlay(null);
  });
  giveHeight();
  location.hash = hash;
  return render(<App platform={host} queryClient={createQueryClient()} />);
}

export function inputsOf(host: SampleHost, op: string): unknown[] {
  return host.calls.filter((call) => call.op === op).map(({ input }) => input);
}
