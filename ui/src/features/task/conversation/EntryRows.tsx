/** One component for each kind of log entry. */
import {
  Bot,
  Brain,
  ChevronRight,
  CircleCheck,
  CircleDashed,
  CircleDot,
  CircleX,
  FileDiff,
  Info,
  LogOut,
  SquareTerminal,
  User,
  Wrench,
} from "lucide-react";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { AnsiText } from "#ui/components/AnsiText.tsx";
import { Badge } from "#ui/components/Badge.tsx";
import { CodeBlock } from "#ui/components/CodeBlock.tsx";
import { Markdown } from "#ui/components/Markdown.tsx";
import { duration } from "#ui/components/time.ts";
import { compact, milliseconds, money } from "../numbers.ts";
import { ApprovalRow } from "./ApprovalRow.tsx";
import { LongText } from "./LongText.tsx";
import { MiniDiff } from "./MiniDiff.tsx";
import { useParts, useRowSurroundings, useUnfolded } from "./RowContext.ts";
import { textIn, type EntryRow, type OutputRow } from "./log.ts";
import {
  findings,
  firstLine,
  numberIn,
  planSteps,
  pretty,
  promptSubject,
  shortInput,
  stringIn,
} from "./present.ts";
import layout from "#ui/components/layout.module.css";
import styles from "./Rows.module.css";

interface RowProps {
  readonly row: EntryRow;
  readonly log: string;
}

/** A line that unfolds. */
function Fold({
  row,
  icon,
  summary,
  aside,
  tone,
  mono = false,
  open: byDefault = false,
  children,
}: {
  row: EntryRow;
  icon: ReactNode;
  summary: ReactNode;
  aside?: ReactNode;
  tone?: "danger" | "neutral";
  mono?: boolean;
  open?: boolean;
  children?: ReactNode;
}) {
  const [open, toggle] = useUnfolded(row.key, byDefault);
  return (
    <div className={styles.fold} data-tone={tone}>
      <button
        type="button"
        className={styles.line}
        aria-expanded={children ? open : undefined}
        disabled={!children}
        onClick={toggle}
      >
        <span className={styles.icon} aria-hidden>
          {icon}
        </span>
        <span className={styles.summary} data-mono={mono || undefined}>
          {summary}
        </span>
        {aside && <span className={styles.aside}>{aside}</span>}
        {children && <ChevronRight className={styles.chevron} aria-hidden />}
      </button>
      {open && children && <div className={styles.inside}>{children}</div>}
    </div>
  );
}

function Running() {
  const { t } = useTranslation();
  return <span className={styles.running}>{t("conversation.running")}</span>;
}

function Ended({ row }: { row: EntryRow }) {
  const { t } = useTranslation();
  if (row.status === "running") return <Running />;
  if (row.status === "failed" || row.status === "declined" || row.status === "cancelled") {
    return <Badge tone="danger">{t(`conversation.status.${row.status}`)}</Badge>;
  }
  return null;
}

function Prompt({ row, log }: RowProps) {
  const { t } = useTranslation();
  const { onLink } = useRowSurroundings();
  const text = textIn(row.body);
  return (
    <Fold
      row={row}
      icon={<User />}
      summary={
        <>
          <b>{t("conversation.prompt")}</b> {promptSubject(text)}
        </>
      }
    >
      <LongText body={row.body} log={log} seq={row.seq}>
        <Markdown source={text} onLink={onLink} />
      </LongText>
    </Fold>
  );
}

function Message({ row, log }: RowProps) {
  const { onLink } = useRowSurroundings();
  return (
    <div className={styles.message}>
      <LongText body={row.body} log={log} seq={row.seq}>
        <Markdown source={textIn(row.body)} onLink={onLink} />
      </LongText>
    </div>
  );
}

function Reasoning({ row, log }: RowProps) {
  const { t } = useTranslation();
  const { onLink } = useRowSurroundings();
  const text = textIn(row.body);
  return (
    <Fold
      row={row}
      icon={<Brain />}
      summary={
        <>
          <b>{t("conversation.reasoning")}</b> {firstLine(text).replace(/[*_`#]/g, "")}
        </>
      }
    >
      <div className={layout.soft}>
        <LongText body={row.body} log={log} seq={row.seq}>
          <Markdown source={text} onLink={onLink} />
        </LongText>
      </div>
    </Fold>
  );
}

function Command({ row, log }: RowProps) {
  const { t } = useTranslation();
  const command = stringIn(row.body, "command") ?? textIn(row.body);
  const output = stringIn(row.body, "output") ?? "";
  const exit = numberIn(row.body, "exit_code");
  const failed = exit !== null ? exit !== 0 : row.status === "failed";
  const aside =
    exit !== null ? (
      <span className={styles.exit} data-failed={failed || undefined}>
        {t("conversation.exit", { code: exit })}
      </span>
    ) : (
      <Ended row={row} />
    );
  return (
    <Fold
      row={row}
      icon={<SquareTerminal />}
      mono
      summary={firstLine(command)}
      aside={aside}
      {...(failed ? { tone: "danger" as const } : {})}
    >
      {(output !== "" || command.includes("\n")) && (
        <LongText body={row.body} log={log} seq={row.seq}>
          {command.includes("\n") && <CodeBlock code={command} maxHeight={200} />}
          {output !== "" && (
            <CodeBlock code={output} maxHeight={360}>
              <AnsiText text={output} />
            </CodeBlock>
          )}
        </LongText>
      )}
    </Fold>
  );
}

function FileChange({ row, log }: RowProps) {
  const { t } = useTranslation();
  const path = stringIn(row.body, "path") ?? "";
  const change = stringIn(row.body, "change");
  const diff = stringIn(row.body, "diff");
  return (
    <MiniDiff
      row={row}
      log={log}
      diff={diff}
      icon={<FileDiff />}
      path={path}
      label={t("conversation.changes", { path })}
      note={
        <>
          {change && <span className={layout.faint}>{change}</span>}
          <Ended row={row} />
        </>
      }
    />
  );
}

function ToolCall({ row, log }: RowProps) {
  const { t } = useTranslation();
  const name = stringIn(row.body, "name") ?? t("conversation.tool");
  const input = row.body["input"];
  const output = row.body["output"];
  const hasInput = input !== undefined && input !== null;
  const hasOutput = output !== undefined && output !== null && output !== "";
  return (
    <Fold
      row={row}
      icon={name.toLowerCase().includes("agent") ? <Bot /> : <Wrench />}
      summary={
        <>
          <b>{name}</b> <span className={styles.mono}>{shortInput(input)}</span>
        </>
      }
      aside={<Ended row={row} />}
      {...(row.status === "failed" ? { tone: "danger" as const } : {})}
    >
      {(hasInput || hasOutput) && (
        <LongText body={row.body} log={log} seq={row.seq}>
          {hasInput && (
            <CodeBlock
              caption={t("conversation.input")}
              code={pretty(input)}
              maxHeight={240}
              wrap
            />
          )}
          {hasOutput && (
            <CodeBlock caption={t("conversation.output")} code={pretty(output)} maxHeight={320}>
              <AnsiText text={pretty(output)} />
            </CodeBlock>
          )}
        </LongText>
      )}
    </Fold>
  );
}

function Plan({ row }: RowProps) {
  const { t } = useTranslation();
  const steps = planSteps(row.body);
  const done = steps.filter((step) => step.done).length;
  return (
    <section className={styles.plan} aria-label={t("conversation.plan")}>
      <h4 className={styles.planTitle}>
        {t("conversation.plan")}
        <span className={styles.count}>{t("progress.of", { done, total: steps.length })}</span>
      </h4>
      <ul>
        {steps.map((step, index) => (
          <li
            key={index}
            data-done={step.done || undefined}
            data-current={step.current || undefined}
          >
            {step.done ? (
              <CircleCheck aria-label={t("conversation.stepDone")} />
            ) : step.current ? (
              <CircleDot aria-label={t("conversation.stepNext")} />
            ) : (
              <CircleDashed aria-label={t("conversation.stepOpen")} />
            )}
            {step.text}
          </li>
        ))}
      </ul>
    </section>
  );
}

function UsageLine({ row }: RowProps) {
  const { t } = useTranslation();
  const read = (key: string) => numberIn(row.body, key) ?? 0;
  const cost = numberIn(row.body, "cost_micro_usd");
  const model = stringIn(row.body, "model");
  const counted = (key: "in" | "cacheRead" | "cacheWrite" | "out", field: string) =>
    t(`conversation.usage.${key}`, { count: read(field), number: compact(read(field)) });
  const thought = read("reasoning");
  const parts = [
    counted("in", "input_uncached"),
    ...(read("cache_read") > 0 ? [counted("cacheRead", "cache_read")] : []),
    ...(read("cache_write") > 0 ? [counted("cacheWrite", "cache_write")] : []),
    thought > 0
      ? `${counted("out", "output")} ${t("conversation.usage.thought", { number: compact(thought) })}`
      : counted("out", "output"),
    ...(cost === null ? [] : [money(cost)]),
    ...(model ? [model] : []),
  ];
  return (
    <p className={styles.usage}>
      {parts.map((part, index) => (
        <span key={index}>{part}</span>
      ))}
    </p>
  );
}

function Notice({ row }: RowProps) {
  return (
    <p className={styles.notice}>
      <Info aria-hidden />
      <span>{textIn(row.body)}</span>
    </p>
  );
}

function ReviewEntry({ row }: RowProps) {
  const { t } = useTranslation();
  const found = findings(row.body);
  if (found.length === 0) return <Raw row={row} log="" />;
  return (
    <section className={styles.plan} aria-label={t("conversation.findings")}>
      <h4 className={styles.planTitle}>{t("conversation.findings")}</h4>
      <ul>
        {found.map((finding, index) => (
          <li key={index}>
            {finding.severity && <Badge tone="warning">{finding.severity}</Badge>}
            <span>
              {finding.file && (
                <code>
                  {finding.line === null ? finding.file : `${finding.file}:${finding.line}`}
                </code>
              )}{" "}
              {finding.text}
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Exit({ row }: RowProps) {
  const { t } = useTranslation();
  const code = numberIn(row.body, "code");
  const signal = row.body["signal"];
  const took = numberIn(row.body, "duration_ms");
  const leftBehind = row.body["left_behind"];
  const text =
    code !== null
      ? t("conversation.exited", { code })
      : t("conversation.killed", { signal: String(signal ?? "?") });
  const left = Array.isArray(leftBehind) ? leftBehind.length : Number(leftBehind ?? 0);
  return (
    <p className={styles.notice} data-tone={code === 0 ? undefined : "danger"}>
      <LogOut aria-hidden />
      <span>
        {text}
        {took !== null && ` · ${milliseconds(took) ?? duration(took)}`}
        {left > 0 && ` · ${t("conversation.leftBehind", { count: left })}`}
      </span>
    </p>
  );
}

function Summary({ row }: RowProps) {
  const { t } = useTranslation();
  const { onLink } = useRowSurroundings();
  return (
    <section className={styles.ending} aria-label={t("conversation.summary")}>
      <CircleCheck aria-hidden />
      <Markdown source={stringIn(row.body, "summary") ?? ""} onLink={onLink} />
    </section>
  );
}

function Raw({ row }: RowProps) {
  const { t } = useTranslation();
  return (
    <Fold
      row={row}
      icon={<CircleX />}
      summary={
        <>
          <b>{t("conversation.raw")}</b>{" "}
          <span className={styles.mono}>{JSON.stringify(row.body).slice(0, 200)}</span>
        </>
      }
    >
      <CodeBlock code={pretty(row.body)} maxHeight={320} wrap />
    </Fold>
  );
}

export function Output({ row }: { row: OutputRow }) {
  return (
    <pre className={styles.output} data-stream={row.stream}>
      <AnsiText text={row.text} />
    </pre>
  );
}

function Kind(props: RowProps) {
  switch (props.row.kind) {
    case "user_message":
      return <Prompt {...props} />;
    case "assistant_text":
      return <Message {...props} />;
    case "reasoning":
      return <Reasoning {...props} />;
    case "command":
      return <Command {...props} />;
    case "file_change":
      return <FileChange {...props} />;
    case "tool_call":
      return <ToolCall {...props} />;
    case "plan":
      return <Plan {...props} />;
    case "usage":
      return <UsageLine {...props} />;
    case "notice":
      return <Notice {...props} />;
    case "approval_request":
    case "approval_resolved":
      return <ApprovalRow {...props} />;
    case "review":
      return <ReviewEntry {...props} />;
    case "process_exit":
      return <Exit {...props} />;
    case "turn_ended":
      return <Summary {...props} />;
    case "session_started":
    case "hook_run":
    case "stdout":
    case "stderr":
    case "raw":
      return <Raw {...props} />;
  }
}

/** How much of a sub-agent's work there is, and the way to put it away. */
function Parts({ row }: { row: EntryRow }) {
  const { t } = useTranslation();
  const [open, toggle] = useParts(row.key);
  return (
    <button type="button" className={styles.parts} aria-expanded={open} onClick={toggle}>
      <ChevronRight className={styles.chevron} aria-hidden />
      {t("conversation.parts", { count: row.parts })}
    </button>
  );
}

/** Deeper than this, the words need the width. */
const deepest = 3;

export function Entry(props: RowProps) {
  const { row } = props;
  const depth = Math.min(row.depth, deepest);
  return (
    <div className={depth > 0 ? styles.nested : undefined} data-depth={depth || undefined}>
      <Kind {...props} />
      {row.parts > 0 && <Parts row={row} />}
    </div>
  );
}
