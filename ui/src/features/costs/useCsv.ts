/** The ledger as a file that the person keeps where they want. */
import { useTranslation } from "react-i18next";
import { call } from "#ui/api/client.ts";
import type { CostsOf } from "#ui/api/generated.ts";
import { useCsv as useSavedCsv } from "#ui/domain/useCsv.ts";
import { usePlatform } from "#ui/platform/PlatformContext.tsx";

export function useCsv(of: CostsOf): { readonly busy: boolean; readonly save: () => void } {
  const { t } = useTranslation();
  const platform = usePlatform();
  return useSavedCsv({
    name: "forge-costs.csv",
    page: (cursor) => call(platform, "cost_csv", { ...of, limit: 200, ...cursor }),
    saved: t("costPage.saved"),
    notSaved: t("costPage.notSaved"),
  });
}
