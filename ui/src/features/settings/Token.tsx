/**
 * The token that other programs send. The page has it from when it is asked for until it is hidden or left; no
 * cache keeps it.
 */
import { useEffect, useId, useState } from "react";
import { useTranslation } from "react-i18next";
import { call } from "#ui/api/client.ts";
import { ApiError } from "#ui/api/error.ts";
import { AlertDialog } from "#ui/components/AlertDialog.tsx";
import { Button } from "#ui/components/Button.tsx";
import { CopyButton } from "#ui/components/CopyButton.tsx";
import { Said } from "#ui/components/Said.tsx";
import { showToast } from "#ui/components/Toast.tsx";
import { usePlatform } from "#ui/platform/PlatformContext.tsx";
import { Row } from "./Section.tsx";
import styles from "./SettingsScreen.module.css";

/** What is in sight, until the window is not. */
function useShown() {
  const [shown, setShown] = useState<string | null>(null);
  useEffect(() => {
    if (shown === null) return undefined;
    const look = () => document.hidden && setShown(null);
    document.addEventListener("visibilitychange", look);
    return () => document.removeEventListener("visibilitychange", look);
  }, [shown]);
  return [shown, setShown] as const;
}

/** Asks for the token or a new one; says what is in the way. */
function useAsk() {
  const { t } = useTranslation();
  const platform = usePlatform();
  return async (op: "doors_token" | "doors_token_renew"): Promise<string> => {
    try {
      return (await call(platform, op, {})).token;
    } catch (error) {
      const title = t(op === "doors_token" ? "apiAccess.tokenFailed" : "apiAccess.notRenewed");
      showToast({ tone: "danger", title, detail: ApiError.from(error).message });
      throw error;
    }
  };
}

function Renew({ onRenewed }: { onRenewed: (token: string) => void }) {
  const { t } = useTranslation();
  const ask = useAsk();
  const [open, setOpen] = useState(false);
  const [busy, setBusy] = useState(false);
  const renew = () => {
    setBusy(true);
    ask("doors_token_renew")
      .then(
        (token) => {
          onRenewed(token);
          setOpen(false);
          showToast({
            tone: "success",
            title: t("apiAccess.renewed"),
            detail: t("apiAccess.renewedText"),
          });
        },
        // Said already; the question stays.
        () => {},
      )
      .finally(() => setBusy(false));
  };
  return (
    <>
      <Button onClick={() => setOpen(true)}>{t("apiAccess.renew")}</Button>
      <AlertDialog
        open={open}
        onOpenChange={setOpen}
        danger
        busy={busy}
        title={t("apiAccess.renewTitle")}
        description={<Said text={t("apiAccess.renewText")} />}
        confirmLabel={t("apiAccess.renewConfirm")}
        onConfirm={renew}
      />
    </>
  );
}

export function Token({ file }: { file: string }) {
  const { t } = useTranslation();
  const id = useId();
  const ask = useAsk();
  const [shown, setShown] = useShown();
  const isShown = shown !== null;
  const toggle = () => {
    if (isShown) setShown(null);
    else ask("doors_token").then(setShown, () => {});
  };
  return (
    <>
      <Row label={t("apiAccess.token")} hint={<Said text={t("apiAccess.tokenHint", { file })} />}>
        <span className={styles.actions}>
          <Button
            aria-label={t(isShown ? "apiAccess.hideToken" : "apiAccess.showToken")}
            aria-expanded={isShown}
            {...(isShown ? { "aria-controls": id } : {})}
            onClick={toggle}
          >
            {t(isShown ? "apiAccess.hide" : "apiAccess.show")}
          </Button>
          <Renew onRenewed={(token) => isShown && setShown(token)} />
          <CopyButton text={() => ask("doors_token")} label={t("apiAccess.copyToken")} />
        </span>
      </Row>
      {isShown && (
        <p id={id} className={styles.secret}>
          <code>{shown}</code>
        </p>
      )}
    </>
  );
}
