import "#ui/app/locale.ts"; // First: what follows may touch Intl while it is imported.
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import "#ui/styles/tokens.css";
import "#ui/styles/contrast.css";
import "#ui/styles/tones.css";
import "#ui/styles/base.css";
import "#ui/i18n/index.ts";
import { createQueryClient } from "#ui/api/operations.tsx";
import { App } from "#ui/app/App.tsx";
import type { Platform } from "#ui/platform/types.ts";
import { createTauriPlatform } from "#ui/platform/tauri.ts";
import { followLooks } from "#ui/store/looks.ts";

/** In a plain browser the development server stands on the fake host; a built page never does. */
async function choosePlatform(): Promise<Platform> {
  if (import.meta.env.DEV && !("__TAURI_INTERNALS__" in window)) {
    const { createSampleHost } = await import("#ui/test/sampleHost.ts");
    return createSampleHost(new URLSearchParams(location.search).get("sample"));
  }
  return createTauriPlatform();
}

// A longer language that nobody speaks shows what has no room for one.
if (import.meta.env.DEV && new URLSearchParams(location.search).has("pseudo")) {
  const { speakPseudo } = await import("#ui/test/pseudo.ts");
  await speakPseudo();
}

// What `looks.js` has set before the first paint is set again by the rules that hold from here on.
followLooks(document.documentElement)();

const root = document.getElementById("root");
if (!root) throw new Error("failed to start the page: index.html has no #root");
const platform = await choosePlatform();
createRoot(root).render(
  <StrictMode>
    <App platform={platform} queryClient={createQueryClient()} />
  </StrictMode>,
);
