import { useState, type ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { useOp } from "#ui/api/client.ts";
import { Button } from "#ui/components/Button.tsx";
import { Dialog } from "#ui/components/Dialog.tsx";
import { ErrorState } from "#ui/components/ErrorState.tsx";
import { SkeletonText } from "#ui/components/Skeleton.tsx";
import { bytes } from "#ui/domain/size.ts";
import { TextLines } from "./TextLines.tsx";
import { numberIn } from "./present.ts";
import { useRowSurroundings } from "./RowContext.ts";
import type { Body } from "./log.ts";

function WholeText({ log, seq }: { log: string; seq: number }) {
  const { t } = useTranslation();
  const { taskId } = useRowSurroundings();
  const whole = useOp("task_log_text", { task_id: taskId, log_id: log, seq });
  if (whole.error) {
    return (
      <ErrorState
        title={t("conversation.textFailed")}
        error={whole.error}
        onRetry={() => void whole.refetch()}
      />
    );
  }
  if (!whole.data) return <SkeletonText lines={8} />;
  return <TextLines text={whole.data.text} label={t("conversation.wholeText")} />;
}

/** A text and, when the log keeps most of it apart, the way to all of it. */
export function LongText({
  body,
  log,
  seq,
  children,
}: {
  body: Body;
  log: string;
  seq: number;
  children: ReactNode;
}) {
  const { t } = useTranslation();
  const [open, setOpen] = useState(false);
  if (typeof body["blob"] !== "string") return children;
  const size = numberIn(body, "text_bytes");
  return (
    <>
      {children}
      <Button size="sm" variant="ghost" onClick={() => setOpen(true)}>
        {size === null
          ? t("conversation.wholeText")
          : t("conversation.wholeTextOf", { size: bytes(size) })}
      </Button>
      <Dialog open={open} onOpenChange={setOpen} title={t("conversation.wholeText")} size="lg">
        <WholeText log={log} seq={seq} />
      </Dialog>
    </>
  );
}
