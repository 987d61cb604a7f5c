import {
  Bot,
  CircleAlert,
  CircleCheck,
  CircleSlash,
  CircleX,
  LoaderCircle,
  MessageCircleQuestion,
  Paperclip,
  Unplug,
} from "lucide-react";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import type { Execution, ExecutionStatus, SaidMessage, UsageSample } from "#ui/api/generated.ts";
import { MachineBadge } from "#ui/domain/machines/MachineBadge.tsx";
import { useMachineMap } from "#ui/domain/machines/useMachines.ts";
import { Badge, type Tone } from "#ui/components/Badge.tsx";
import { RelativeTime } from "#ui/components/RelativeTime.tsx";
import { Tooltip } from "#ui/components/Tooltip.tsx";
import { duration } from "#ui/components/time.ts";
import { Elapsed } from "#ui/components/Elapsed.tsx";
import { compact, milliseconds, money } from "../numbers.ts";
import { Row } from "#ui/components/Row.tsx";
import layout from "#ui/components/layout.module.css";
import { Sandbox } from "./Sandbox.tsx";
import styles from "./ExecutionHead.module.css";

const looks: Readonly<Record<ExecutionStatus, { readonly tone: Tone; readonly icon: ReactNode }>> =
  {
    starting: { tone: "accent", icon: <LoaderCircle /> },
    running: { tone: "accent", icon: <LoaderCircle /> },
    waiting: { tone: "warning", icon: <MessageCircleQuestion /> },
    finished: { tone: "success", icon: <CircleCheck /> },
    failed: { tone: "danger", icon: <CircleX /> },
    cancelled: { tone: "neutral", icon: <CircleSlash /> },
    lost: { tone: "warning", icon: <Unplug /> },
  };

function Took({ execution }: { execution: Execution }) {
  if (!execution.finished_at) return <Elapsed since={execution.started_at} />;
  const took = Date.parse(execution.finished_at) - Date.parse(execution.started_at);
  return <span>{milliseconds(took) ?? duration(took)}</span>;
}

/** What it cost, and how that is known. Nothing before there is something to say. */
function Cost({ execution }: { execution: Execution }) {
  const { t } = useTranslation();
  const { cost_micro_usd: cost, cost_source: source, price_version: prices } = execution;
  if (cost === null) {
    return execution.finished_at && <span>{t("conversation.cost.unknown")}</span>;
  }
  const said = `${money(cost)} ${t(`conversation.cost.${source}`)}`;
  if (source !== "computed") return <span>{said}</span>;
  const text = prices
    ? t("conversation.cost.prices", { version: prices })
    : t("conversation.cost.ownPrices");
  return (
    <Tooltip text={text}>
      {/* Reached by the keyboard too, for it says more. */}
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex */}
      <span className={styles.more} tabIndex={0} aria-description={text}>
        {said}
      </span>
    </Tooltip>
  );
}

function Models({ models }: { models: readonly UsageSample[] }) {
  const { t } = useTranslation();
  const named = models.filter(({ model }) => model !== "");
  if (named.length === 0) return null;
  const words = ({ model, cost_micro_usd: cost, ...used }: UsageSample) =>
    [
      model,
      t("conversation.tokens", {
        input: compact(
          (used.input_uncached ?? 0) + (used.cache_read ?? 0) + (used.cache_write ?? 0),
        ),
        output: compact(used.output ?? 0),
      }),
      ...(cost === null ? [] : [money(cost)]),
    ].join(" · ");
  return (
    <span title={named.map(words).join("\n")}>{named.map(({ model }) => model).join(", ")}</span>
  );
}

const shortId = (id: string): string => (id.length > 14 ? `${id.slice(0, 8)}…` : id);

/** How it came to its conversation: a new one, the last gone on with, or a copy. */
function Session({ execution }: { execution: Execution }) {
  const { t } = useTranslation();
  const { session_mode: mode, session_id: own, from_session: from } = execution;
  if (own === null && from === null) return null;
  const before = from ?? own ?? "";
  return (
    <p className={styles.facts} data-selectable>
      <span title={[own, from].filter(Boolean).join(" ← ")}>
        {mode === "new"
          ? t("conversation.session.new")
          : t(`conversation.session.${mode}`, { id: shortId(before) })}
        {own !== null && mode !== "resume" && (
          <>
            {" "}
            <code>{shortId(own)}</code>
          </>
        )}
      </span>
    </p>
  );
}

/** Variables of the user's environment that the program did not get. */
function Withheld({ names }: { names: readonly string[] }) {
  const { t } = useTranslation();
  if (names.length === 0) return null;
  return (
    <p className={styles.facts} data-selectable>
      <span title={names.join(", ")}>
        {t("conversation.withheld", { count: names.length })} <code>{names.join(", ")}</code>
      </span>
    </p>
  );
}

/** What the person said that it was started with. */
function Messages({ messages }: { messages: readonly SaidMessage[] }) {
  const { t } = useTranslation();
  if (messages.length === 0) return null;
  return (
    <ul className={styles.messages} aria-label={t("conversation.saidBy")}>
      {messages.map(({ text, comments, files }, index) => (
        <li key={index} className={styles.message} data-selectable>
          {text !== "" && <p className={styles.words}>{text}</p>}
          {(comments > 0 || files.length > 0) && (
            <p className={styles.along}>
              {comments > 0 && <span>{t("conversation.queuedComments", { count: comments })}</span>}
              {files.map((file, place) => (
                <span key={`${place}:${file}`}>
                  <Paperclip aria-hidden /> {file}
                </span>
              ))}
            </p>
          )}
        </li>
      ))}
    </ul>
  );
}

/** The machine that it runs on, or ran on. */
function OnMachine({ id }: { id: string }) {
  const machine = useMachineMap().get(id);
  return machine && <MachineBadge machine={machine} />;
}

/** Where one run of an agent begins, and how it ended. */
export function ExecutionHead({
  execution,
  agent,
  empty,
}: {
  execution: Execution;
  agent: string | undefined;
  empty: boolean;
}) {
  const { t } = useTranslation();
  const { tone, icon } = looks[execution.status];
  const { usage } = execution;
  const input = (usage.input_uncached ?? 0) + (usage.cache_read ?? 0) + (usage.cache_write ?? 0);
  const output = usage.output ?? 0;
  return (
    <section className={styles.head}>
      <Row gap={3}>
        <span className={styles.icon} aria-hidden>
          <Bot />
        </span>
        <h3 className={styles.title}>
          {t(`conversation.role.${execution.role}`)}
          {agent && <span className={styles.agent}>{agent}</span>}
          <span className={styles.attempt}>
            {t("conversation.attempt", { count: execution.attempt })}
          </span>
        </h3>
        <Badge tone={tone} icon={icon}>
          {t(`conversation.execution.${execution.status}`)}
        </Badge>
      </Row>
      <p className={styles.facts}>
        <span className={layout.soft}>{execution.cause}</span>
        {execution.machine_id && <OnMachine id={execution.machine_id} />}
        <RelativeTime at={execution.started_at} />
        <Took execution={execution} />
        <Cost execution={execution} />
        {input + output > 0 && (
          <span>
            {t("conversation.tokens", { input: compact(input), output: compact(output) })}
          </span>
        )}
        <Models models={execution.models} />
      </p>
      <Session execution={execution} />
      <Withheld names={execution.withheld} />
      <Sandbox report={execution.sandbox} run={execution.id} />
      <Messages messages={execution.messages} />
      {execution.error && (
        <div className={styles.error} role="note">
          <CircleAlert aria-hidden />
          <div>
            <p>{execution.error.message}</p>
            {execution.error.remedy && <p className={layout.soft}>{execution.error.remedy}</p>}
          </div>
        </div>
      )}
      {execution.conflict && (
        <div className={styles.error} role="note">
          <CircleAlert aria-hidden />
          <div>
            <p>{t("conversation.conflict", { target: execution.conflict.target })}</p>
            <ul className={layout.soft}>
              {execution.conflict.paths.map(({ path, kind }) => (
                <li key={path}>
                  <code>{path}</code> {kind}
                </li>
              ))}
            </ul>
          </div>
        </div>
      )}
      {empty && <p className={styles.empty}>{t("conversation.emptyLog")}</p>}
    </section>
  );
}
