import type { MouseEvent, Ref } from "react";
import { useTranslation } from "react-i18next";
import { Banner } from "./Banner.tsx";
import { Button } from "./Button.tsx";

export interface ChangedElsewhereProps {
  /** What changed. */
  readonly title: string;
  /** The first choice: saving leads there as long as nothing is chosen. */
  readonly ref?: Ref<HTMLButtonElement>;
  readonly onKeep: () => void;
  readonly onTake: () => void;
}

/** The banner goes with the choice, and the focus with it: what follows is in the editor around it. */
function focusAround({ currentTarget }: MouseEvent): void {
  const editor = currentTarget.closest("section")?.parentElement;
  requestAnimationFrame(() => {
    editor?.querySelector<HTMLElement>("button:not([disabled]), input, textarea")?.focus();
  });
}

/** Something else was saved since a draft was begun: a person says whose is kept before anything is saved. */
export function ChangedElsewhere({ title, ref, onKeep, onTake }: ChangedElsewhereProps) {
  const { t } = useTranslation();
  return (
    <Banner
      tone="warning"
      title={title}
      actions={
        <>
          <Button
            ref={ref}
            onClick={(event) => {
              focusAround(event);
              onKeep();
            }}
          >
            {t("workflow.keepMine")}
          </Button>
          <Button
            variant="ghost"
            onClick={(event) => {
              focusAround(event);
              onTake();
            }}
          >
            {t("workflow.takeTheirs")}
          </Button>
        </>
      }
    >
      {t("workflow.changedElsewhereText")}
    </Banner>
  );
}
