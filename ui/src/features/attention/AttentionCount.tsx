import { useTranslation } from "react-i18next";
import { useOp } from "#ui/api/client.ts";
import { Badge } from "#ui/components/Badge.tsx";
import { attentionLimit } from "./limit.ts";

export function AttentionCount() {
  const { t } = useTranslation();
  const count = useOp("attention", { limit: attentionLimit }).data?.items.length ?? 0;
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
