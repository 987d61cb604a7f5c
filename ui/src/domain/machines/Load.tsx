import { PauseCircle } from "lucide-react";
import type { TFunction } from "i18next";
import { useTranslation } from "react-i18next";
import type { Machine } from "#ui/api/generated.ts";
import { Badge } from "#ui/components/Badge.tsx";

/** How many runs there are, of how many. */
export function loadWords({ runs, caps }: Pick<Machine, "runs" | "caps">, t: TFunction): string {
  return caps.runs == null
    ? t("machines.runsNow", { count: runs })
    : t("machines.runsOf", { count: caps.runs, runs });
}

/** Says that nothing new starts there. */
export function DrainingBadge() {
  const { t } = useTranslation();
  return (
    <Badge tone="warning" icon={<PauseCircle />}>
      {t("machines.draining")}
    </Badge>
  );
}
