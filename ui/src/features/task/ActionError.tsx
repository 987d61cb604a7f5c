import { CircleAlert, X } from "lucide-react";
import { useTranslation } from "react-i18next";
import { describeError } from "#ui/components/ErrorState.tsx";
import { CopyButton } from "#ui/components/CopyButton.tsx";
import { IconButton } from "#ui/components/IconButton.tsx";
import { Said } from "#ui/components/Said.tsx";
import type { ApiError } from "#ui/api/error.ts";
import layout from "#ui/components/layout.module.css";
import styles from "./ActionError.module.css";

/** Why what was just asked for did not happen, where it was asked for. */
export function ActionError({
  title,
  error,
  onDismiss,
}: {
  title: string;
  error: ApiError | null;
  onDismiss?: () => void;
}) {
  const { t } = useTranslation();
  if (!error) return null;
  return (
    <div className={styles.error} role="alert" data-selectable>
      <CircleAlert aria-hidden />
      <div className={styles.text}>
        <p>
          <Said text={error.message} />
        </p>
        {error.hints.map((hint) => (
          <p key={hint} className={layout.soft}>
            {hint}
          </p>
        ))}
      </div>
      <CopyButton text={describeError(title, error)} label={t("error.copyDetails")} />
      {onDismiss && (
        <IconButton label={t("action.dismiss")} icon={<X />} size="sm" onClick={onDismiss} />
      )}
    </div>
  );
}
