import { AlertDialog as Base } from "@base-ui/react/alert-dialog";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { Button } from "./Button.tsx";
import styles from "./Dialog.module.css";

export interface AlertDialogProps {
  readonly open: boolean;
  readonly onOpenChange: (open: boolean) => void;
  readonly title: string;
  /** What will happen, and what will not come back. */
  readonly description: ReactNode;
  /** Names the deed ("Delete project"), never "OK". */
  readonly confirmLabel: string;
  readonly danger?: boolean;
  readonly busy?: boolean;
  readonly onConfirm: () => void;
  /** Another way to answer. */
  readonly other?: { readonly label: string; readonly onSelect: () => void };
  /** How to leave things as they are; "Cancel" where nothing else is called so. */
  readonly keepLabel?: string;
  readonly children?: ReactNode;
}

/** A question that must be answered: no close by clicking beside it; focus starts on Cancel. */
export function AlertDialog({
  open,
  onOpenChange,
  title,
  description,
  confirmLabel,
  danger = false,
  busy = false,
  onConfirm,
  other,
  keepLabel,
  children,
}: AlertDialogProps) {
  const { t } = useTranslation();
  return (
    <Base.Root open={open} onOpenChange={onOpenChange}>
      <Base.Portal>
        <Base.Backdrop className={styles.backdrop} />
        <Base.Viewport className={styles.viewport}>
          <Base.Popup className={styles.popup} data-size="sm">
            <header className={styles.header}>
              <Base.Title dir="auto" className={styles.title}>
                {title}
              </Base.Title>
            </header>
            <Base.Description dir="auto" className={styles.description}>
              {description}
            </Base.Description>
            {children && <div className={styles.body}>{children}</div>}
            <footer className={styles.actions}>
              <Base.Close render={<Button>{keepLabel ?? t("action.cancel")}</Button>} />
              {other && (
                <Button disabled={busy} onClick={other.onSelect}>
                  {other.label}
                </Button>
              )}
              <Button variant={danger ? "danger" : "primary"} busy={busy} onClick={onConfirm}>
                {confirmLabel}
              </Button>
            </footer>
          </Base.Popup>
        </Base.Viewport>
      </Base.Portal>
    </Base.Root>
  );
}
