/** What a closed task delivered, on top of its panel: what, how it was proved, what it took. */
import { ChevronRight, PackageCheck, PackageX } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useOp } from "#ui/api/client.ts";
import type { Delivery, Task, Workflow } from "#ui/api/generated.ts";
import { Button } from "#ui/components/Button.tsx";
import { CopyButton } from "#ui/components/CopyButton.tsx";
import { ErrorState } from "#ui/components/ErrorState.tsx";
import { Markdown } from "#ui/components/Markdown.tsx";
import { RelativeTime } from "#ui/components/RelativeTime.tsx";
import { SkeletonText } from "#ui/components/Skeleton.tsx";
import { usePlatform } from "#ui/platform/PlatformContext.tsx";
import { Check } from "../review/Check.tsx";
import { ScoreMeter } from "../review/Audit.tsx";
import { Commit } from "../review/MergeState.tsx";
import { isClosed } from "#ui/domain/steps.ts";
import { deliveryMarkdown, isEmpty, openingOf } from "./delivery.ts";
import { useDeliveryWords } from "./useDeliveryWords.ts";
import { Stack } from "#ui/components/Stack.tsx";
import layout from "#ui/components/layout.module.css";
import styles from "./Delivery.module.css";

function Evidence({ task, delivery }: { task: Task; delivery: Delivery }) {
  const { t } = useTranslation();
  const { commits, checks, audit } = delivery;
  return (
    <Stack gap={4}>
      {commits.length > 0 && (
        <section aria-label={t("delivery.commits")}>
          <h4 className={styles.heading}>{t("delivery.commits")}</h4>
          <ol className={styles.commits}>
            {commits.map(({ id, subject, author, at }) => (
              <li key={id}>
                <Commit commit={id} />
                <span className={styles.subject}>{subject}</span>
                <span className={layout.note}>
                  {author} <RelativeTime at={at} />
                </span>
              </li>
            ))}
          </ol>
        </section>
      )}
      {checks.length > 0 && (
        <section aria-label={t("delivery.checks")}>
          <h4 className={styles.heading}>{t("delivery.checks")}</h4>
          <ol className={styles.checks}>
            {checks.map((step) => (
              <Check key={step.index} taskId={task.id} step={step} />
            ))}
          </ol>
        </section>
      )}
      {audit && (
        <section aria-label={t("delivery.audit")}>
          <h4 className={styles.heading}>
            {t("delivery.audit")}
            {audit.score !== null && <ScoreMeter score={audit.score} />}
          </h4>
          {audit.reason && <p>{audit.reason}</p>}
        </section>
      )}
    </Stack>
  );
}

function Delivered({ task, delivery, workflow }: Props & { delivery: Delivery }) {
  const { t } = useTranslation();
  const platform = usePlatform();
  const [open, setOpen] = useState(false);
  const cancelled = task.status === workflow.cancellation_state;
  const words = useDeliveryWords(task, delivery, cancelled);
  const { pull_request: pull } = delivery;
  const opening = openingOf(delivery.summary);
  const whole = delivery.summary?.trim() ?? "";
  const said = open ? whole : opening;
  const hasMore =
    whole !== opening ||
    delivery.commits.length > 0 ||
    delivery.checks.length > 0 ||
    delivery.audit !== null;
  return (
    <section className={styles.delivery} aria-label={t("delivery.label")} data-selectable>
      <header className={styles.head} data-tone={cancelled ? "neutral" : "success"}>
        {cancelled ? <PackageX aria-hidden /> : <PackageCheck aria-hidden />}
        <h3>{words.headline}</h3>
        <span className={layout.note}>
          <RelativeTime at={delivery.finished_at} />
        </span>
        {pull && (
          <Button size="sm" variant="ghost" onClick={() => void platform.openExternal(pull.url)}>
            {t("pullRequest.number", { number: pull.number })}
          </Button>
        )}
        <span className={styles.end}>
          <CopyButton text={deliveryMarkdown(delivery, words)} label={t("delivery.copy")} />
        </span>
      </header>
      {said !== "" && (
        <div className={styles.summary}>
          <Markdown source={said} onLink={(href) => void platform.openExternal(href)} />
        </div>
      )}
      <dl className={styles.facts}>
        {words.facts.map(({ name, value }) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      {hasMore && (
        <button
          type="button"
          className={styles.fold}
          aria-expanded={open}
          onClick={() => setOpen(!open)}
        >
          <ChevronRight aria-hidden />
          {t("delivery.more")}
        </button>
      )}
      {open && <Evidence task={task} delivery={delivery} />}
    </section>
  );
}

interface Props {
  readonly task: Task;
  readonly workflow: Workflow;
}

function Read(props: Props) {
  const { t } = useTranslation();
  const answer = useOp("task_delivery", { task_id: props.task.id });
  if (answer.error) {
    // A task closed before this was recorded has nothing to tell; that is no fault of anybody's.
    if (answer.error.code === "not_found") {
      return <p className={styles.none}>{t("delivery.none")}</p>;
    }
    return (
      <ErrorState
        title={t("delivery.failed")}
        error={answer.error}
        onRetry={() => void answer.refetch()}
      />
    );
  }
  if (!answer.data) return <SkeletonText lines={2} />;
  if (isEmpty(answer.data)) return null;
  return <Delivered {...props} delivery={answer.data} />;
}

export function DeliveryPart(props: Props) {
  if (!isClosed(props.task, props.workflow)) return null;
  return <Read {...props} />;
}
