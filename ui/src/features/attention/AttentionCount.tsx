import { useTranslation } from "react-i18next";
import { useOp } from "#ui/api/client.ts";
import { Badge } from "#ui/components/Badge.tsx";
import { attentionLimit } from "./limit.ts";
import { useByHand } from "./useByHand.ts";

export function AttentionCount() {
  const { t } = useTranslation();
  const waiting = useOp("attention", { limit: attentionLimit }).data?.items ?? [];
  const known = new Set(waiting.map(({ id }) => id));
  const byHand = useByHand().tasks.filter(({ id }) => !known.has(id));
  const count = Math.min(attentionLimit, waiting.length + byHand.length);
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
