import { Bot } from "lucide-react";
import { useTranslation } from "react-i18next";
import { Screen } from "#ui/app/Screen.tsx";
import { EmptyState } from "#ui/components/EmptyState.tsx";

export default function AgentsScreen() {
  const { t } = useTranslation();
  return (
    <Screen title={t("nav.agents")}>
      <EmptyState icon={<Bot />} title={t("screen.agents.title")}>
        {t("screen.agents.text")}
      </EmptyState>
    </Screen>
  );
}
