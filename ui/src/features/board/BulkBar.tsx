import { X } from "lucide-react";
import { useTranslation } from "react-i18next";
import { useLayer } from "#ui/app/layers.ts";
import { Button } from "#ui/components/Button.tsx";
import { IconButton } from "#ui/components/IconButton.tsx";
import { recoverable } from "#ui/domain/recovery.ts";
import { start, stop } from "./actions.ts";
import { clearSelection, useBoard, type Pick } from "./model.ts";
import { useActing } from "./useActing.ts";
import styles from "./BoardArea.module.css";

/** What can be done to all selected cards at once. */
export function BulkBar() {
  const { t } = useTranslation();
  const acting = useActing();
  const { model } = acting;
  const count = useBoard((state) => state.selected.size);
  useLayer(() => clearSelection(model), count > 0);
  const blocked = useBoard(({ selected }) =>
    selected.size === 0 ? 0 : recoverable(model.chosen()).length,
  );
  if (count === 0) return null;
  const pick = (picking: Pick) => () => model.state.setState({ picking });
  return (
    <section className={styles.bulk} aria-label={t("board.selection")}>
      <strong>{t("board.selected", { count })}</strong>
      <Button size="sm" onClick={() => void start(acting, acting.model.chosen())}>
        {t("board.command.start")}
      </Button>
      <Button size="sm" onClick={() => void stop(acting, acting.model.chosen())}>
        {t("board.command.stop")}
      </Button>
      <Button size="sm" keys="m" onClick={pick("move")}>
        {t("board.command.move")}
      </Button>
      <Button size="sm" keys="a" onClick={pick("assign")}>
        {t("board.command.assign")}
      </Button>
      <Button size="sm" keys="p" onClick={pick("priority")}>
        {t("board.command.priority")}
      </Button>
      {blocked > 0 && (
        <Button size="sm" keys="u" onClick={pick("unblock")}>
          {t("board.command.unblock")}
        </Button>
      )}
      <IconButton
        size="sm"
        label={t("board.clearSelection")}
        keys="escape"
        icon={<X />}
        onClick={() => clearSelection(model)}
      />
    </section>
  );
}
