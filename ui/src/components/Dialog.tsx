import { Dialog as Base } from "@base-ui/react/dialog";
import { X } from "lucide-react";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { IconButton } from "./IconButton.tsx";
import styles from "./Dialog.module.css";

export interface DialogProps {
  readonly open: boolean;
  readonly onOpenChange: (open: boolean) => void;
  readonly title: string;
  readonly description?: ReactNode;
  readonly size?: "sm" | "md" | "lg";
  /** Buttons, the decisive one last. */
  readonly actions?: ReactNode;
  readonly children?: ReactNode;
}

export function Dialog({
  open,
  onOpenChange,
  title,
  description,
  size = "md",
  actions,
  children,
}: DialogProps) {
  const { t } = useTranslation();
  return (
    <Base.Root open={open} onOpenChange={onOpenChange}>
      <Base.Portal>
        <Base.Backdrop className={styles.backdrop} />
        <Base.Viewport className={styles.viewport}>
          <Base.Popup className={styles.popup} data-size={size}>
            <header className={styles.header}>
              <Base.Title dir="auto" className={styles.title}>
                {title}
              </Base.Title>
            </header>
            {description && (
              <Base.Description dir="auto" className={styles.description}>
                {description}
              </Base.Description>
            )}
            {children && <div className={styles.body}>{children}</div>}
            {actions && <footer className={styles.actions}>{actions}</footer>}
            {/* Last in order, so that focus starts in the content. */}
            <Base.Close
              className={styles.close}
              render={
                <IconButton label={t("action.close")} icon={<X />} size="sm" tooltip={false} />
              }
            />
          </Base.Popup>
        </Base.Viewport>
      </Base.Portal>
    </Base.Root>
  );
}
