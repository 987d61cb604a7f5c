import { Toast as Base } from "@base-ui/react/toast";
import { CircleAlert, CircleCheck, Info, TriangleAlert, X } from "lucide-react";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { IconButton } from "./IconButton.tsx";
import styles from "./Toast.module.css";

export type ToastTone = "info" | "success" | "warning" | "danger";

export interface ToastMessage {
  readonly tone?: ToastTone;
  readonly title: string;
  readonly detail?: ReactNode;
  /** Milliseconds in sight; 0 stays until closed. */
  readonly timeout?: number;
  readonly action?: { readonly label: string; readonly onSelect: () => void };
}

const manager = Base.createToastManager();

/** Says something in passing. What the person must answer belongs in a Banner instead. */
export function showToast({ tone = "info", title, detail, timeout, action }: ToastMessage): string {
  const id = manager.add({
    type: tone,
    title,
    ...(detail ? { description: detail } : {}),
    timeout: timeout ?? (tone === "danger" ? 10_000 : 5_000),
    ...(action
      ? {
          actionProps: {
            children: action.label,
            onClick: () => {
              action.onSelect();
              manager.close(id);
            },
          },
        }
      : {}),
  });
  return id;
}

export const closeToast = (id: string): void => manager.close(id);

const icons: Record<string, ReactNode> = {
  info: <Info />,
  success: <CircleCheck />,
  warning: <TriangleAlert />,
  danger: <CircleAlert />,
};

function Toasts() {
  const { t } = useTranslation();
  const { toasts } = Base.useToastManager();
  return toasts.map((toast) => (
    <Base.Root
      key={toast.id}
      toast={toast}
      swipeDirection="right"
      className={styles.toast}
      data-tone={toast.type}
      // Not a dialog, which Base UI makes of it, hiding the urgent ones: it is read out where it
      // stands, and Tab or F6 lead to its buttons.
      role={toast.type === "danger" ? "alert" : "status"}
      aria-modal={undefined}
    >
      <span className={styles.icon} aria-hidden>
        {icons[toast.type ?? "info"]}
      </span>
      <div className={styles.text}>
        <Base.Title dir="auto" className={styles.title} />
        <Base.Description dir="auto" className={styles.detail} />
      </div>
      {toast.actionProps && <Base.Action className={styles.action} />}
      <Base.Close
        // It is in sight, so it is there for everybody.
        aria-hidden={undefined}
        render={<IconButton label={t("action.dismiss")} icon={<X />} size="sm" />}
      />
    </Base.Root>
  ));
}

export function ToastHost({ children }: { children: ReactNode }) {
  const { t } = useTranslation();
  return (
    <Base.Provider toastManager={manager} limit={4}>
      {children}
      <Base.Portal>
        <Base.Viewport className={styles.viewport} aria-label={t("notifications.title")}>
          <Toasts />
        </Base.Viewport>
      </Base.Portal>
    </Base.Provider>
  );
}
