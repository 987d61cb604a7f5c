/** Which engine the window shows, and whether it can be reached. */
import { useStore } from "zustand";
import { createStore } from "zustand/vanilla";
import { ApiError, errorText } from "#ui/api/error.ts";
import { showToast } from "#ui/components/Toast.tsx";
import { t } from "#ui/i18n/index.ts";
import type { EngineShown, Platform, Unsubscribe } from "#ui/platform/types.ts";

const here: EngineShown = { host: null, contact: { state: "live" }, known: [] };

const engine = createStore<EngineShown>(() => here);

export function useEngine(): EngineShown {
  return useStore(engine);
}

/** The computer whose engine is shown, null for this one; for what is no component. */
export function engineHost(): string | null {
  return engine.getState().host;
}

/** Follows what the host says of the engine. */
export function followEngine(platform: Platform): Unsubscribe {
  let wanted = true;
  engine.setState(here, true);
  const drop = platform.onContact((contact) => engine.setState({ contact }));
  void platform.engine().then((shown) => {
    if (wanted) engine.setState(shown, true);
  });
  return () => {
    wanted = false;
    drop();
  };
}

/** Brings the window of an engine forward; says why it cannot be used. */
export function openEngine(platform: Platform, host: string | null): void {
  platform.connect(host).catch((thrown: unknown) => {
    const title = t("engine.failed", { host: host ?? t("engine.here") });
    showToast({ tone: "danger", title, detail: errorText(ApiError.from(thrown)) });
  });
}
