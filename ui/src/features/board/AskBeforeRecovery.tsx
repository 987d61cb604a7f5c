/** What is asked before several blocked tasks are helped at once, and which of them could not be helped. */
import { useTranslation } from "react-i18next";
import type { ApiError } from "#ui/api/error.ts";
import type { Task } from "#ui/api/generated.ts";
import { formatRoute } from "#ui/app/router.ts";
import { AlertDialog } from "#ui/components/AlertDialog.tsx";
import { Button } from "#ui/components/Button.tsx";
import { Dialog } from "#ui/components/Dialog.tsx";
import { Progress } from "#ui/components/Progress.tsx";
import { Said } from "#ui/components/Said.tsx";
import { Stack } from "#ui/components/Stack.tsx";
import layout from "#ui/components/layout.module.css";
import { recover, stopRecovery } from "./actions.ts";
import { useBoard, type Recovering, type Refusals } from "./model.ts";
import { useActing } from "./useActing.ts";
import styles from "./BoardArea.module.css";

function Question({ recovering }: { recovering: Recovering }) {
  const { t } = useTranslation();
  const acting = useActing();
  const { verb, label, tasks, done, isStopped = false } = recovering;
  const count = tasks.length;
  const close = () => acting.model.state.setState({ recovering: null });
  return (
    <AlertDialog
      open
      onOpenChange={(open) => {
        if (open) return;
        if (done === null) close();
        else stopRecovery(acting.model);
      }}
      title={t(`board.recover.${verb}.title`, { count, number: tasks[0]?.number ?? 0 })}
      description={t(`board.recover.${verb}.text`, { count })}
      confirmLabel={label}
      {...(done === null ? {} : { keepLabel: t("board.recover.stop") })}
      danger={verb === "restart"}
      busy={done !== null}
      onConfirm={() => void recover(acting, recovering)}
    >
      {done === null ? (
        verb === "restart" && count > 1 && <Named tasks={tasks} />
      ) : (
        <>
          <Progress label={label} done={done} total={count} />
          {isStopped && <p role="status">{t("board.recover.stopping")}</p>}
        </>
      )}
    </AlertDialog>
  );
}

const nameOf = ({ number, title }: Task): string => `#${number} ${title}`;

/** Whose work is replaced. */
function Named({ tasks }: { tasks: readonly Task[] }) {
  return (
    <ul className={styles.named}>
      {tasks.map((task) => (
        <li key={task.id} dir="auto">
          {nameOf(task)}
        </li>
      ))}
    </ul>
  );
}

/** The engine's hints for a program that runs in a terminal are for a command line; here the person was asked. */
const hintsOf = ({ code, hints }: ApiError): readonly string[] =>
  code === "terminal_busy" ? [] : hints;

function RefusedList({ refused: { verb, tasks } }: { refused: Refusals }) {
  const { t } = useTranslation();
  const { model } = useActing();
  const close = () => model.state.setState({ refused: null });
  return (
    <Dialog
      open
      onOpenChange={(open) => {
        if (!open) close();
      }}
      title={t(`board.recover.${verb}.refused`, { count: tasks.length })}
      description={t("board.recover.refusedText", { count: tasks.length })}
      actions={<Button onClick={close}>{t("action.close")}</Button>}
    >
      <ul className={styles.refused} data-selectable>
        {tasks.map(({ task, error }) => (
          <Stack as="li" gap={0} key={task.id}>
            <a
              dir="auto"
              href={formatRoute("task", {
                project: task.project_id,
                number: String(task.number),
              })}
              onClick={close}
            >
              {nameOf(task)}
            </a>
            <span dir="auto">
              <Said text={error.message} />
            </span>
            {hintsOf(error).map((hint) => (
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
      {refused && <RefusedList refused={refused} />}
    </>
  );
}
