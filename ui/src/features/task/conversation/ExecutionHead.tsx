import {
  Bot,
  CircleAlert,
  CircleCheck,
  CircleSlash,
  CircleX,
  LoaderCircle,
  MessageCircleQuestion,
  Unplug,
} from "lucide-react";
import type { ReactNode } from "react";
import { useTranslation } from "react-i18next";
import type { Execution, ExecutionStatus } from "#ui/api/generated.ts";
import { Badge, type Tone } from "#ui/components/Badge.tsx";
import { RelativeTime } from "#ui/components/RelativeTime.tsx";
import { duration } from "#ui/components/time.ts";
import { Elapsed } from "#ui/components/Elapsed.tsx";
import { compact, milliseconds, money } from "../numbers.ts";
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
      <div className={styles.top}>
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
      </div>
      <p className={styles.facts}>
        <span className={styles.cause}>{execution.cause}</span>
        <RelativeTime at={execution.started_at} />
        <Took execution={execution} />
        {execution.cost_micro_usd !== null && <span>{money(execution.cost_micro_usd)}</span>}
        {input + output > 0 && (
          <span>
            {t("conversation.tokens", { input: compact(input), output: compact(output) })}
          </span>
        )}
      </p>
      {execution.error && (
        <div className={styles.error} role="note">
          <CircleAlert aria-hidden />
          <div>
            <p>{execution.error.message}</p>
            {execution.error.remedy && <p className={styles.remedy}>{execution.error.remedy}</p>}
          </div>
        </div>
      )}
      {execution.conflict && (
        <div className={styles.error} role="note">
          <CircleAlert aria-hidden />
          <div>
            <p>{t("conversation.conflict", { target: execution.conflict.target })}</p>
            <ul className={styles.paths}>
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
