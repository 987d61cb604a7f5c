/** Asks for a computer, and opens the window of its engine. */
import { useState, type FormEvent } from "react";
import { useTranslation } from "react-i18next";
import { ApiError, errorText } from "#ui/api/error.ts";
import { Banner } from "#ui/components/Banner.tsx";
import { Button } from "#ui/components/Button.tsx";
import { Dialog } from "#ui/components/Dialog.tsx";
import { Stack } from "#ui/components/Stack.tsx";
import { TextField } from "#ui/components/TextField.tsx";
import { usePlatform } from "#ui/platform/PlatformContext.tsx";

const formId = "connect";

export default function ConnectDialog({ onClose }: { onClose: () => void }) {
  const { t } = useTranslation();
  const platform = usePlatform();
  const [host, setHost] = useState("");
  const [busy, setBusy] = useState(false);
  const [failed, setFailed] = useState<ApiError | null>(null);
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    setFailed(null);
    try {
      await platform.connect(host.trim());
      onClose();
    } catch (thrown) {
      setFailed(ApiError.from(thrown));
      setBusy(false);
    }
  };
  return (
    <Dialog
      open
      onOpenChange={(open) => !open && onClose()}
      title={t("engine.connectTitle")}
      description={t("engine.connectText")}
      actions={
        <>
          <Button onClick={onClose}>{t("action.cancel")}</Button>
          <Button
            type="submit"
            form={formId}
            variant="primary"
            busy={busy}
            disabled={host.trim() === ""}
          >
            {t("engine.connectAction")}
          </Button>
        </>
      }
    >
      <Stack id={formId} as="form" gap={4} onSubmit={(event) => void submit(event)}>
        {failed && (
          <Banner tone="danger" title={t("engine.failed", { host: host.trim() })}>
            {errorText(failed)}
          </Banner>
        )}
        <TextField
          label={t("engine.host")}
          hint={t("engine.hostHint")}
          mono
          autoFocus
          value={host}
          onChange={setHost}
        />
      </Stack>
    </Dialog>
  );
}
