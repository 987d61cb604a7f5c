import { Inbox } from "lucide-react";
import { useTranslation } from "react-i18next";
import { Screen } from "#ui/app/Screen.tsx";
import { EmptyState } from "#ui/components/EmptyState.tsx";

export default function AttentionScreen() {
  const { t } = useTranslation();
  return (
    <Screen title={t("nav.attention")}>
      <EmptyState icon={<Inbox />} title={t("screen.attention.title")}>
        {t("screen.attention.text")}
      </EmptyState>
    </Screen>
  );
}
