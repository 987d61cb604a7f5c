import { X } from "lucide-react";
import { useTranslation } from "react-i18next";
import { Button } from "#ui/components/Button.tsx";
import { IconButton } from "#ui/components/IconButton.tsx";
import { clearSelection, useBoard, useBoardModel } from "./model.ts";
import styles from "./BoardArea.module.css";

/** What can be done to all selected cards at once. */
export function BulkBar() {
  const { t } = useTranslation();
  const model = useBoardModel();
  const count = useBoard((state) => state.selected.size);
  if (count === 0) return null;
  const pick = (picking: "move" | "assign" | "priority") => () => model.state.setState({ picking });
  return (
    <section className={styles.bulk} aria-label={t("board.selection")}>
      <strong>{t("board.selected", { count })}</strong>
      <Button size="sm" keys="m" onClick={pick("move")}>
        {t("board.command.move")}
      </Button>
      <Button size="sm" keys="a" onClick={pick("assign")}>
        {t("board.command.assign")}
      </Button>
      <Button size="sm" keys="p" onClick={pick("priority")}>
        {t("board.command.priority")}
      </Button>
      <IconButton
        size="sm"
        label={t("board.clearSelection")}
        icon={<X />}
        onClick={() => clearSelection(model)}
      />
    </section>
  );
}
