import { Check, Copy } from "lucide-react";
import { useEffect, useState } from "react";
import { useTranslation } from "react-i18next";
import { IconButton } from "./IconButton.tsx";

export interface CopyButtonProps {
  /** What is copied; asked for at the press where the page shall not have it before. */
  readonly text: string | (() => Promise<string>);
  readonly label?: string;
}

/** What is asked for is written as a promise: the press counts for it only while it is being handled. */
function write(text: CopyButtonProps["text"]): Promise<void> {
  if (typeof text === "string") return navigator.clipboard.writeText(text);
  return navigator.clipboard.write([new ClipboardItem({ "text/plain": text() })]);
}

/** Copies text and says so for a moment, to the eye and to assistive technology. */
export function CopyButton({ text, label }: CopyButtonProps) {
  const { t } = useTranslation();
  const [outcome, setOutcome] = useState<"idle" | "copied" | "failed">("idle");

  useEffect(() => {
    if (outcome === "idle") return undefined;
    const timer = setTimeout(() => setOutcome("idle"), 1_600);
    return () => clearTimeout(timer);
  }, [outcome]);

  const copy = () => {
    write(text).then(
      () => setOutcome("copied"),
      () => setOutcome("failed"),
    );
  };
  const said = { idle: "", copied: t("action.copied"), failed: t("action.copyFailed") }[outcome];
  return (
    <>
      <IconButton
        label={said || (label ?? t("action.copy"))}
        icon={outcome === "copied" ? <Check /> : <Copy />}
        size="sm"
        onClick={copy}
      />
      <span className="visually-hidden" role="status">
        {said}
      </span>
    </>
  );
}
