import { CircleAlert } from "lucide-react";
import { useTranslation } from "react-i18next";
import { ApiError } from "#ui/api/error.ts";
import { Button } from "./Button.tsx";
import { CopyButton } from "./CopyButton.tsx";
import { Said } from "./Said.tsx";
import { Stack } from "./Stack.tsx";
import layout from "./layout.module.css";
import styles from "./ErrorState.module.css";

export interface ErrorStateProps {
  /** What did not work, in the person's words. */
  readonly title: string;
  readonly error: unknown;
  readonly onRetry?: () => void;
}

/** Everything worth sending to somebody else, as text. */
export function describeError(title: string, error: ApiError): string {
  const details = error.details === null ? [] : [JSON.stringify(error.details, null, 2)];
  return [
    title,
    `${error.code}: ${error.message}`,
    ...error.hints.map((hint) => `- ${hint}`),
    ...details,
  ].join("\n");
}

/** What went wrong, why, and what to do. */
export function ErrorState({ title, error, onRetry }: ErrorStateProps) {
  const { t } = useTranslation();
  const known = ApiError.from(error);
  return (
    <div className={styles.state} role="alert" data-selectable>
      <span className={styles.icon} aria-hidden>
        <CircleAlert />
      </span>
      <Stack gap={2} fill>
        <h2 className={styles.title}>{title}</h2>
        <p className={layout.prose}>
          <Said text={known.message} />
        </p>
        {known.hints.length > 0 && (
          <ul className={styles.hints} aria-label={t("error.whatToDo")}>
            {known.hints.map((hint) => (
              <li key={hint}>{hint}</li>
            ))}
          </ul>
        )}
        <div className={styles.actions}>
          {onRetry && (
            <Button size="sm" onClick={onRetry}>
              {t("action.retry")}
            </Button>
          )}
          <code className={styles.code}>{known.code}</code>
          <CopyButton text={describeError(title, known)} label={t("error.copyDetails")} />
        </div>
      </Stack>
    </div>
  );
}
