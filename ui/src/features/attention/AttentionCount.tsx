import { useTranslation } from "react-i18next";
import { useOp } from "#ui/api/client.ts";
import { Badge } from "#ui/components/Badge.tsx";

/** How many tasks are read at most; a hundred waiting is "99+" to anybody. */
export const attentionLimit = 100;

export function AttentionCount() {
  const { t } = useTranslation();
  const waiting = useOp("attention", { limit: attentionLimit }).data?.items ?? [];
  const count = waiting.length;
  if (count === 0) return null;
  return (
    <>
      <Badge look="count" tone="warning">
        {count < attentionLimit ? count : "99+"}
      </Badge>
      <span className="visually-hidden">{t("attention.count", { count })}</span>
    </>
  );
}
