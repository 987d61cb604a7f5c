import { TriangleAlert } from "lucide-react";
import { useTranslation } from "react-i18next";
import { useOp } from "#ui/api/client.ts";
import { Badge } from "#ui/components/Badge.tsx";

/** Says in the sidebar that worktrees take more space than the person wants them to. */
export function WorkspacesCount() {
  const { t } = useTranslation();
  const disks = useOp("workspace_disk", {}).data?.items ?? [];
  const count = disks.filter(({ over }) => over).length;
  if (count === 0) return null;
  return (
    <>
      <Badge look="count" tone="warning" icon={<TriangleAlert aria-hidden />}>
        {null}
      </Badge>
      <span className="visually-hidden">{t("workspaces.overCount", { count })}</span>
    </>
  );
}
