import { QueryClientProvider, type QueryClient } from "@tanstack/react-query";
import { useEffect, useMemo } from "react";
import { followChanges } from "#ui/api/changes.ts";
import { ToastHost } from "#ui/components/Toast.tsx";
import { TooltipProvider } from "#ui/components/Tooltip.tsx";
import type { Platform } from "#ui/platform/types.ts";
import { PlatformProvider } from "#ui/platform/PlatformContext.tsx";
import { askingHost } from "#ui/domain/closing/endTerminals.ts";
import { TerminalQuestion } from "#ui/domain/closing/TerminalQuestion.tsx";
import { followEngine } from "#ui/domain/engine/engine.ts";
import { showOverlay } from "#ui/store/overlays.ts";
import { RowsContext } from "#ui/components/rows.ts";
import { followLooks, useRowLooks } from "#ui/store/looks.ts";
import { AppShell } from "./AppShell.tsx";
import { installCutTexts } from "./cutTexts.ts";
import { installKeys } from "./keys.ts";
import { placeOf } from "./noticePlace.ts";

export interface AppProps {
  readonly platform: Platform;
  readonly queryClient: QueryClient;
}

/** Everything the screens stand on: the host, the cache that follows its changes, theme, keys. */
export function App({ platform, queryClient }: AppProps) {
  const rows = useRowLooks();
  const host = useMemo(() => askingHost(platform), [platform]);
  useEffect(() => followChanges(queryClient, platform.onChanges), [queryClient, platform]);
  useEffect(
    () =>
      platform.onOpenTask(({ project_id: project, number, about }) => {
        location.hash = placeOf({ project, number, kind: about ?? null }, "page");
      }),
    [platform],
  );
  useEffect(() => followEngine(platform), [platform]);
  useEffect(() => platform.onConnectAsked(() => showOverlay("connect")), [platform]);
  useEffect(() => followLooks(document.documentElement), []);
  useEffect(() => installKeys(window), []);
  useEffect(() => installCutTexts(document), []);
  useEffect(() => {
    // The second frame after the first render is the first that has been painted.
    let frame = requestAnimationFrame(() => {
      frame = requestAnimationFrame(() => platform.ready());
    });
    return () => cancelAnimationFrame(frame);
  }, [platform]);

  return (
    <PlatformProvider platform={host}>
      <QueryClientProvider client={queryClient}>
        <RowsContext value={rows}>
          <TooltipProvider>
            <ToastHost>
              <AppShell />
              <TerminalQuestion />
            </ToastHost>
          </TooltipProvider>
        </RowsContext>
      </QueryClientProvider>
    </PlatformProvider>
  );
}
