import { useCallback, useState, type KeyboardEvent } from "react";
import { useTranslation } from "react-i18next";
import type { Offer } from "#ui/api/generated.ts";
import { isMac } from "#ui/components/combo.ts";
import { AlertDialog } from "#ui/components/AlertDialog.tsx";
import { Button } from "#ui/components/Button.tsx";
import { TextArea } from "#ui/components/TextField.tsx";
import { Tooltip } from "#ui/components/Tooltip.tsx";
import { drafts, isDirty } from "#ui/draft/drafts.ts";
import { useText } from "#ui/draft/useText.ts";
import { ActionError } from "../ActionError.tsx";
import { WinnerForm } from "../race/WinnerForm.tsx";
import type { Action } from "../useAction.ts";
import { GiveUpText } from "./GiveUpText.tsx";
import { asksFirst, needsText, opensForm } from "./offers.ts";
import { Row } from "#ui/components/Row.tsx";
import { Stack } from "#ui/components/Stack.tsx";
import layout from "#ui/components/layout.module.css";

export interface OffersProps {
  readonly offers: readonly Offer[];
  /** Whose entries one chooses among, for the offer that asks for one. */
  readonly taskId: string;
  /** The machine that the task is on, for the offer that gives it up. */
  readonly machine?: string | undefined;
  /** It is a cluster, and the task's job there has not begun. */
  readonly queued?: boolean;
  readonly action: Action;
  /** Answers whether it was done. */
  readonly onTake: (offer: Offer, field: string | null) => Promise<boolean>;
  /** A text that is asked for may be left out: something else says enough. */
  readonly mayBeEmpty?: boolean;
  /** What goes along with the text. */
  readonly formNote?: string | null;
}

function OfferForm({
  offer,
  action,
  onTake,
  mayBeEmpty = false,
  formNote = null,
  taskId,
  onClose,
}: Omit<OffersProps, "offers" | "machine" | "queued"> & { offer: Offer; onClose: () => void }) {
  const { t } = useTranslation();
  const { text, write, drop } = useText(textKey(taskId, offer));
  const missing = !mayBeEmpty && needsText(offer) && text.trim() === "";
  const send = async () => {
    if (missing || action.busy) return;
    if (!(await onTake(offer, text.trim() === "" ? null : text.trim()))) return;
    drop();
    onClose();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const mod = isMac ? event.metaKey : event.ctrlKey;
    if (event.key === "Enter" && mod) {
      event.preventDefault();
      void send();
    } else if (event.key === "Escape") {
      event.stopPropagation();
      onClose();
    }
  };
  const isMessage = offer.fields[0] === "message";
  // What stands above the tabs scrolls: without this the buttons begin below its edge.
  const end = useCallback((row: HTMLElement | null) => {
    row?.scrollIntoView({ block: "nearest" });
  }, []);
  return (
    <Stack
      as="form"
      gap={3}
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
    >
      <TextArea
        // It was opened by asking to write.
        autoFocus
        label={isMessage ? t("task.field.message") : t("task.field.reason")}
        hint={offer.why}
        rows={3}
        value={text}
        onChange={write}
        onKeyDown={onKeyDown}
      />
      {formNote && <p className={layout.faint}>{formNote}</p>}
      <Row wrap gap={2} ref={end}>
        <Button
          size="sm"
          variant="primary"
          type="submit"
          keys="mod+enter"
          disabled={missing}
          busy={action.busy !== null}
        >
          {offer.label}
        </Button>
        <Button
          size="sm"
          variant="ghost"
          onClick={() => {
            drop();
            onClose();
          }}
        >
          {t("action.cancel")}
        </Button>
      </Row>
    </Stack>
  );
}

/** Names what is written for an offer: the offer may go and come again meanwhile. */
const textKey = (taskId: string, { verb }: Offer): string => `offer:${taskId}:${verb}`;

/** The offer that something is written for, and not yet sent. */
function begun(taskId: string, offers: readonly Offer[]): Offer | null {
  const written = drafts.getState().drafts;
  const isBegun = (offer: Offer) => {
    const draft = written[textKey(taskId, offer)];
    return draft !== undefined && isDirty(draft);
  };
  return offers.find(isBegun) ?? null;
}

/** The engine's offers as buttons, the likeliest first; those that need a text open a form. */
export function Offers({ offers, taskId, machine, queued = false, ...form }: OffersProps) {
  const { action, onTake } = form;
  const { t } = useTranslation();
  const [open, setOpen] = useState<Offer | null>(() => begun(taskId, offers));
  const [asked, setAsked] = useState<Offer | null>(null);
  const [taken, setTaken] = useState<Offer | null>(null);
  const choose = (offer: Offer) => {
    action.dismiss();
    setTaken(offer);
    if (asksFirst(offer.verb)) setAsked(offer);
    else if (opensForm(offer)) setOpen(offer);
    else void onTake(offer, null);
  };
  return (
    <Stack gap={3} fill>
      {open?.fields[0] === "entry" ? (
        <WinnerForm
          taskId={taskId}
          offer={open}
          action={action}
          onTake={onTake}
          onClose={() => setOpen(null)}
        />
      ) : open ? (
        <OfferForm offer={open} taskId={taskId} {...form} onClose={() => setOpen(null)} />
      ) : (
        <Row wrap gap={2}>
          {offers.map((offer, index) => (
            <Tooltip key={offer.verb} text={offer.why}>
              <Button
                size="sm"
                variant={index === 0 && offer.verb !== "give_up_machine" ? "primary" : "secondary"}
                busy={action.busy !== null && taken?.verb === offer.verb}
                disabled={action.busy !== null}
                onClick={() => choose(offer)}
              >
                {offer.label}
              </Button>
            </Tooltip>
          ))}
        </Row>
      )}
      <ActionError title={t("task.actionFailed")} error={action.error} onDismiss={action.dismiss} />
      <AlertDialog
        open={asked !== null}
        onOpenChange={(next) => {
          if (!next) setAsked(null);
        }}
        title={
          asked?.verb === "give_up_machine"
            ? machine === undefined
              ? t("machines.giveUp.titleUnnamed")
              : t("machines.giveUp.title", { name: machine })
            : (asked?.label ?? "")
        }
        description={
          asked?.verb === "give_up_machine" ? (
            <GiveUpText queued={queued} />
          ) : (
            <>
              {asked?.why}
              {asked?.verb === "reset_workspace" && ` ${t("workspace.resetLoses")}`}
            </>
          )
        }
        confirmLabel={asked?.label ?? ""}
        {...(asked?.verb === "cancel" ? { keepLabel: t("task.keep", { count: 1 }) } : {})}
        danger
        onConfirm={() => {
          if (asked) void onTake(asked, null);
          setAsked(null);
        }}
      />
    </Stack>
  );
}
