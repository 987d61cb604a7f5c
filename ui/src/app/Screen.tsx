import { Search } from "lucide-react";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { KeyHint } from "#ui/components/Kbd.tsx";
import { NotificationBell } from "#ui/features/notifications/NotificationBell.tsx";
import { SplitPane } from "#ui/components/SplitPane.tsx";
import { showOverlay } from "#ui/store/overlays.ts";
import { setPreference, usePreference } from "#ui/store/preferences.ts";
import shared from "#ui/components/layout.module.css";
import styles from "./Screen.module.css";

export interface ScreenProps {
  readonly title: ReactNode;
  /** Filters and view controls, beside the title. */
  readonly filters?: ReactNode;
  /** What the screen is for doing, at the end of the bar. */
  readonly actions?: ReactNode;
  /** A panel at the side, resizable, e.g. a task beside the board; false while it is closed. */
  readonly panel?: ReactNode;
  /** `page` is a centred column that scrolls; `full` gives the content the whole area. */
  readonly layout?: "page" | "full";
  readonly children: ReactNode;
}

/** What every screen stands in: the top bar, the content, the side panel. */
export function Screen({ title, filters, actions, panel, layout = "full", children }: ScreenProps) {
  const { t } = useTranslation();
  const panelWidth = usePreference("panelWidth");
  const content = (
    <main className={styles.content} data-layout={layout}>
      {layout === "page" ? <div className={styles.column}>{children}</div> : children}
    </main>
  );
  return (
    <div className={shared.frame}>
      <header className={styles.bar}>
        <h1 className={styles.title}>{title}</h1>
        <div className={styles.filters}>{filters}</div>
        <div className={styles.end}>
          {actions && <div className={styles.actions}>{actions}</div>}
          <button type="button" className={styles.search} onClick={() => showOverlay("palette")}>
            <Search aria-hidden />
            <span className="visually-hidden">{t("action.openPalette")} </span>
            <KeyHint keys="mod+k" />
          </button>
          <NotificationBell />
        </div>
      </header>
      {panel === undefined ? (
        content
      ) : (
        <SplitPane
          aside
          label={t("action.resizePanel")}
          side="end"
          size={panelWidth}
          min={360}
          max={960}
          onResize={(width) => setPreference("panelWidth", width)}
          pane={panel ? <div className={styles.panel}>{panel}</div> : null}
        >
          {content}
        </SplitPane>
      )}
    </div>
  );
}
