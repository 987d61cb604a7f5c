import { useTranslation } from "react-i18next";
import { navigate } from "#ui/app/router.ts";
import { Button } from "#ui/components/Button.tsx";

/** Leads to where the project's services are named. */
export function SetUpServices({ projectId }: { projectId: string }) {
  const { t } = useTranslation();
  return (
    <Button
      onClick={() => navigate("projectSettings", { project: projectId }, { tab: "services" })}
    >
      {t("services.setUp")}
    </Button>
  );
}
