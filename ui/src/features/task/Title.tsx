import { useRef, useState, type KeyboardEvent } from "react";
import { useTranslation } from "react-i18next";
import type { Task } from "#ui/api/generated.ts";
import { ActionError } from "./ActionError.tsx";
import { useAction } from "./useAction.ts";
import styles from "./Title.module.css";

/** The title, edited where it stands: Enter keeps, Escape gives up. */
export function Title({ task }: { task: Task }) {
  const { t } = useTranslation();
  const action = useAction();
  const [draft, setDraft] = useState<string | null>(null);
  const given = useRef(false);

  const keep = async () => {
    const title = draft?.trim() ?? "";
    if (given.current || draft === null || title === "" || title === task.title) {
      setDraft(null);
      return;
    }
    const done = await action.run("task_update", {
      task_id: task.id,
      version: task.version,
      title,
    });
    if (done) setDraft(null);
  };
  const onKeyDown = (event: KeyboardEvent<HTMLTextAreaElement>) => {
    if (event.key !== "Enter" && event.key !== "Escape") return;
    event.preventDefault();
    event.stopPropagation();
    given.current = event.key === "Escape";
    event.currentTarget.blur();
  };

  if (draft === null) {
    return (
      <h2 className={styles.title}>
        <button
          type="button"
          dir="auto"
          className={styles.text}
          title={t("task.editTitle")}
          onClick={() => {
            given.current = false;
            action.dismiss();
            setDraft(task.title);
          }}
        >
          <span className={styles.whole}>{task.title}</span>
        </button>
      </h2>
    );
  }
  return (
    <div className={styles.title}>
      <textarea
        // The person asked to edit by clicking on the title.
        autoFocus
        dir="auto"
        className={styles.input}
        aria-label={t("task.titleField")}
        rows={Math.max(1, Math.ceil(draft.length / 48))}
        value={draft}
        onChange={(event) => setDraft(event.target.value.replace(/\n/g, " "))}
        onFocus={({ currentTarget }) =>
          currentTarget.setSelectionRange(currentTarget.value.length, currentTarget.value.length)
        }
        onBlur={() => void keep()}
        onKeyDown={onKeyDown}
      />
      <ActionError title={t("task.saveFailed")} error={action.error} onDismiss={action.dismiss} />
    </div>
  );
}
