/** The ledger as a file that the person keeps where they want. */
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { call } from "#ui/api/client.ts";
import { ApiError, errorText } from "#ui/api/error.ts";
import type { CostsOf } from "#ui/api/generated.ts";
import { showToast } from "#ui/components/Toast.tsx";
import { usePlatform } from "#ui/platform/PlatformContext.tsx";

export function useCsv(of: CostsOf): { readonly busy: boolean; readonly save: () => void } {
  const { t } = useTranslation();
  const platform = usePlatform();
  const [busy, setBusy] = useState(false);
  const read = async (): Promise<string> => {
    const parts: string[] = [];
    let cursor: string | null = null;
    do {
      const page: { text: string; next_cursor: string | null } = await call(platform, "cost_csv", {
        ...of,
        limit: 200,
        ...(cursor === null ? {} : { cursor }),
      });
      parts.push(page.text);
      cursor = page.next_cursor;
    } while (cursor !== null);
    return parts.join("");
  };
  const write = async () => {
    const place = await platform.saveText("forge-costs.csv", await read());
    if (place !== null) {
      showToast({ tone: "success", title: t("costPage.saved"), detail: place });
    }
  };
  const save = () => {
    setBusy(true);
    write()
      .catch((thrown: unknown) =>
        showToast({
          tone: "danger",
          title: t("costPage.notSaved"),
          detail: errorText(ApiError.from(thrown)),
        }),
      )
      .finally(() => setBusy(false));
  };
  return { busy, save };
}
