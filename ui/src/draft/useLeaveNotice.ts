/** Leaving a screen with an unsaved draft loses nothing; that is said once, with the way back. */
import { useEffect } from "react";
import { showToast } from "#ui/components/Toast.tsx";
import { t } from "#ui/i18n/index.ts";
import { drafts, isDirty } from "./drafts.ts";

/** `kept` is the catalogue's key of the sentence that names the draft. */
export function useLeaveNotice(
  key: string,
  kept: "workflow.kept" | "hooks.kept" | "projectSettings.kept" | "serviceSettings.kept",
): void {
  useEffect(() => {
    const page = location.hash;
    return () => {
      const draft = drafts.getState().drafts[key];
      if (!draft || !isDirty(draft) || location.hash === page) return;
      showToast({
        title: t(kept),
        detail: t("workflow.keptText"),
        timeout: 8_000,
        action: {
          label: t("workflow.goBack"),
          onSelect: () => {
            location.hash = page;
          },
        },
      });
    };
  }, [key, kept]);
}
