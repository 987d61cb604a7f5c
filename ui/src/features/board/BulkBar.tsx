import { X } from "lucide-react";
import { useTranslation } from "react-i18next";
import { useLayer } from "#ui/app/layers.ts";
import { Button } from "#ui/components/Button.tsx";
import { IconButton } from "#ui/components/IconButton.tsx";
import { recoverable } from "#ui/domain/recovery.ts";
import { chosenActions } from "./chosen.ts";
import { clearSelection, useBoard, type Pick } from "./model.ts";
import { useActing } from "./useActing.ts";
import styles from "./BoardArea.module.css";

/** What can be done to all selected cards at once; what cannot be done to them says why. */
export function BulkBar() {
  const { t } = useTranslation();
  const acting = useActing();
  const { model } = acting;
  const count = useBoard((state) => state.selected.size);
  // Text, so that the bar is drawn anew only when it says something else.
  const closed = useBoard(({ selected }) =>
    selected.size === 0
      ? ""
      : JSON.stringify(chosenActions(acting, model.chosen()).map((action) => action.closed)),
  );
  const blocked = useBoard(({ selected }) =>
    selected.size === 0 ? 0 : recoverable(model.chosen()).length,
  );
  useLayer(() => clearSelection(model), count > 0);
  if (count === 0) return null;
  const pick = (picking: Pick) => () => model.state.setState({ picking });
  const reasons = JSON.parse(closed) as (string | null)[];
  return (
    <section className={styles.bulk} aria-label={t("board.selection")}>
      <strong>{t("board.selected", { count })}</strong>
      {chosenActions(acting, model.chosen()).map(({ id, label, keys, run }, index) => (
        <Button
          key={id}
          size="sm"
          {...(keys ? { keys } : {})}
          disabled={reasons[index] !== null}
          focusableWhenDisabled
          title={reasons[index] ?? undefined}
          onClick={run}
        >
          {label}
        </Button>
      ))}
      <Button size="sm" keys="shift+p" onClick={pick("priority")}>
        {t("board.command.priority")}
      </Button>
      {blocked > 0 && (
        <Button size="sm" keys="shift+u" onClick={pick("unblock")}>
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
