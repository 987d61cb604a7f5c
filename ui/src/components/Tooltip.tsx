import { Tooltip as Base } from "@base-ui/react/tooltip";
import type { ReactElement, ReactNode } from "react";
import { KeyHint } from "./Kbd.tsx";
import styles from "./Tooltip.module.css";

/** Wraps the app once: after the first tooltip, neighbours show without delay. */
export function TooltipProvider({ children }: { children: ReactNode }) {
  return (
    <Base.Provider delay={500} closeDelay={0} timeout={300}>
      {children}
    </Base.Provider>
  );
}

export interface TooltipProps {
  readonly text: ReactNode;
  readonly keys?: string;
  readonly side?: "top" | "bottom" | "left" | "right";
  /** One element that takes a ref and events. */
  readonly children: ReactElement;
}

/** Says what a control does; never the only place of a fact. */
export function Tooltip({ text, keys, side = "bottom", children }: TooltipProps) {
  return (
    <Base.Root
      // Escape is meant for the dialog or panel below: a tooltip goes along with it.
      onOpenChange={(_, details) => {
        if (details.reason === "escape-key") details.allowPropagation();
      }}
    >
      <Base.Trigger render={children} />
      <Base.Portal>
        <Base.Positioner side={side} sideOffset={6} className={styles.positioner}>
          <Base.Popup className={styles.popup}>
            <bdi className={styles.text}>{text}</bdi>
            {keys && <KeyHint keys={keys} />}
          </Base.Popup>
        </Base.Positioner>
      </Base.Portal>
    </Base.Root>
  );
}
