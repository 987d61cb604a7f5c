/** What is asked before several blocked tasks are helped at once, and which of them stayed blocked. */
import { useTranslation } from "react-i18next";
import { AlertDialog } from "#ui/components/AlertDialog.tsx";
import { Button } from "#ui/components/Button.tsx";
import { Dialog } from "#ui/components/Dialog.tsx";
import { Progress } from "#ui/components/Progress.tsx";
import { Said } from "#ui/components/Said.tsx";
import { Stack } from "#ui/components/Stack.tsx";
import layout from "#ui/components/layout.module.css";
import { recover } from "./actions.ts";
import { useBoard, type Recovering, type Refused } from "./model.ts";
import { useActing } from "./useActing.ts";
import styles from "./BoardArea.module.css";

function Question({ recovering }: { recovering: Recovering }) {
  const { t } = useTranslation();
  const acting = useActing();
  const { verb, label, tasks, done } = recovering;
  const count = tasks.length;
  const close = () => acting.model.state.setState({ recovering: null });
  return (
    <AlertDialog
      open
      onOpenChange={(open) => {
        if (!open && done === null) close();
      }}
      title={t(`board.recover.${verb}.title`, { count, number: tasks[0]?.number ?? 0 })}
      description={t(`board.recover.${verb}.text`)}
      confirmLabel={label}
      danger={verb === "restart"}
      busy={done !== null}
      onConfirm={() => void recover(acting, recovering)}
    >
      {done !== null && <Progress label={label} done={done} total={count} />}
    </AlertDialog>
  );
}

function RefusedList({ refused }: { refused: readonly Refused[] }) {
  const { t } = useTranslation();
  const { model } = useActing();
  const close = () => model.state.setState({ refused: [] });
  return (
    <Dialog
      open
      onOpenChange={(open) => {
        if (!open) close();
      }}
      title={t("board.recover.refused", { count: refused.length })}
      description={t("board.recover.refusedText")}
      actions={<Button onClick={close}>{t("action.close")}</Button>}
    >
      <ul className={styles.refused} data-selectable>
        {refused.map(({ task, error }) => (
          <Stack as="li" gap={0} key={task.id}>
            <strong dir="auto">
              #{task.number} {task.title}
            </strong>
            <span dir="auto">
              <Said text={error.message} />
            </span>
            {error.hints.map((hint) => (
              <span key={hint} dir="auto" className={layout.soft}>
                {hint}
              </span>
            ))}
          </Stack>
        ))}
      </ul>
    </Dialog>
  );
}

export function AskBeforeRecovery() {
  const recovering = useBoard((state) => state.recovering);
  const refused = useBoard((state) => state.refused);
  return (
    <>
      {recovering && <Question recovering={recovering} />}
      {refused.length > 0 && <RefusedList refused={refused} />}
    </>
  );
}
