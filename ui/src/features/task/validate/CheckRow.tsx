/** One check of a validation: how it ended, and what it found. */
import { CircleCheck, CircleHelp, CircleX } from "lucide-react";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import type { CheckResult, CommandCheck, ContractCheck } from "#ui/api/generated.ts";
import { AnsiText } from "#ui/components/AnsiText.tsx";
import { Badge } from "#ui/components/Badge.tsx";
import { CodeBlock } from "#ui/components/CodeBlock.tsx";
import { duration } from "#ui/components/time.ts";
import { CheckLine } from "../CheckLine.tsx";
import { milliseconds } from "../numbers.ts";
import { outcomeOf, outputOf, subjectOf, type Outcome } from "./validate.ts";
import layout from "#ui/components/layout.module.css";
import styles from "./Validate.module.css";

const marks: Readonly<Record<Outcome, ReactNode>> = {
  passed: <CircleCheck />,
  failed: <CircleX />,
  unknown: <CircleHelp />,
};

function Names({ label, names }: { label: string; names: readonly string[] }) {
  if (names.length === 0) return null;
  return (
    <p className={layout.prose}>
      {label} <code data-selectable>{names.join(", ")}</code>
    </p>
  );
}

function Contract({ check }: { check: ContractCheck }) {
  const { t } = useTranslation();
  return (
    <>
      {check.reason && <p className={styles.note}>{check.reason}</p>}
      <Names label={t("validate.missing")} names={check.missing} />
      <Names label={t("validate.imported")} names={check.imported} />
      <Names label={t("validate.exported")} names={check.exported} />
    </>
  );
}

function Output({ check }: { check: CommandCheck }) {
  const { t } = useTranslation();
  const output = outputOf(check);
  if (output === "") return <p className={styles.note}>{t("task.noOutput")}</p>;
  return (
    <CodeBlock code={output} maxHeight={280}>
      <AnsiText text={output} />
    </CodeBlock>
  );
}

function Found({ check }: { check: CheckResult }) {
  const { t } = useTranslation();
  if (check.type === "command") return <Output check={check} />;
  if (check.type === "contract_check") return <Contract check={check} />;
  return <p className={styles.note}>{check.error ?? t("validate.inOrder")}</p>;
}

function Facts({ check }: { check: CheckResult }) {
  const { t } = useTranslation();
  if (check.type === "command") {
    const { timedOut, signal, exitCode, durationMs } = check;
    return (
      <>
        {timedOut && <Badge tone="danger">{t("review.timedOut")}</Badge>}
        {!timedOut && signal != null && (
          <Badge tone="danger">{t("review.signal", { signal })}</Badge>
        )}
        {exitCode !== null && exitCode !== 0 && (
          <Badge tone="danger">{t("conversation.exit", { code: exitCode })}</Badge>
        )}
        <span>{milliseconds(durationMs) ?? duration(durationMs)}</span>
      </>
    );
  }
  return (
    <>
      {check.type === "syntax_check" && check.line != null && (
        <span>{[check.line, check.column].filter(Boolean).join(":")}</span>
      )}
      <span>{t(`validate.kind.${check.type}`)}</span>
    </>
  );
}

export function CheckRow({ check }: { check: CheckResult }) {
  const { t } = useTranslation();
  const outcome = outcomeOf(check);
  return (
    <CheckLine
      outcome={outcome}
      mark={marks[outcome]}
      markLabel={t(`validate.outcome.${outcome}`)}
      subject={subjectOf(check)}
      aside={<Facts check={check} />}
      isOpen={outcome !== "passed"}
    >
      <Found check={check} />
    </CheckLine>
  );
}
