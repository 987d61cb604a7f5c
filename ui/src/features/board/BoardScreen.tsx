import { FolderGit2 } from "lucide-react";
import { useTranslation } from "react-i18next";
import { Screen } from "#ui/app/Screen.tsx";
import { EmptyState } from "#ui/components/EmptyState.tsx";

export default function BoardScreen() {
  const { t } = useTranslation();
  return (
    <Screen title={t("nav.board")}>
      <EmptyState icon={<FolderGit2 />} title={t("screen.board.title")}>
        {t("screen.board.text")}
      </EmptyState>
    </Screen>
  );
}
