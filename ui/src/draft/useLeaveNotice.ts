/** Leaving a screen with an unsaved draft loses nothing; that is said once, with the way back. */
import { useEffect } from "react";
import { showToast } from "#ui/components/Toast.tsx";
import { t } from "#ui/i18n/index.ts";
import { drafts, isDirty } from "./drafts.ts";

const withoutQuery = (address: string): string => address.split("?")[0] ?? "";

/**
 * `kept` is the catalogue's key of the sentence that names the draft. A draft of a whole screen is left with the screen, not
 * with one of its pages: `page` names the one that is shown.
 */
export function useLeaveNotice(
  key: string,
  kept: "workflow.kept" | "hooks.kept" | "projectSettings.kept" | "serviceSettings.kept",
  page?: string,
): void {
  useEffect(() => {
    const from = location.hash;
    const hasLeft = () =>
      page === undefined
        ? location.hash !== from
        : withoutQuery(location.hash) !== withoutQuery(from);
    return () => {
      const draft = drafts.getState().drafts[key];
      if (!draft || !isDirty(draft) || !hasLeft()) return;
      showToast({
        title: t(kept),
        detail: t("workflow.keptText"),
        timeout: 8_000,
        action: {
          label: t("workflow.goBack"),
          onSelect: () => {
            location.hash = from;
          },
        },
      });
    };
  }, [key, kept, page]);
}
