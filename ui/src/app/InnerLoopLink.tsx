import { useTranslation } from "react-i18next";
import { formatRoute } from "./router.ts";

/** Leads to where races are switched on for a project. */
export function InnerLoopLink({ projectId }: { projectId: string }) {
  const { t } = useTranslation();
  return (
    <a href={formatRoute("projectSettings", { project: projectId }, { tab: "innerLoop" })}>
      {t("race.disabledLink")}
    </a>
  );
}
