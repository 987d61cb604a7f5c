import { CircleCheck, CircleX, FlaskConical } from "lucide-react";
import { useTranslation } from "react-i18next";
import { useOpMutation } from "#ui/api/client.ts";
import { errorText } from "#ui/api/error.ts";
import type { Agent } from "#ui/api/generated.ts";
import { Button } from "#ui/components/Button.tsx";
import { Dialog } from "#ui/components/Dialog.tsx";
import { SkeletonText } from "#ui/components/Skeleton.tsx";
import { duration } from "#ui/components/time.ts";
import { Said } from "#ui/components/Said.tsx";
import layout from "#ui/components/layout.module.css";
import styles from "./AgentsScreen.module.css";

const money = (microUsd: number) =>
  new Intl.NumberFormat(navigator.language, {
    style: "currency",
    currency: "USD",
    maximumFractionDigits: 4,
  }).format(microUsd / 1_000_000);

const took = (ms: number) => (ms < 1_000 ? `${Math.round(ms)}ms` : duration(ms));

/** Lets the agent answer one word, once it is said that this costs. */
export function Trial({ agent, onClose }: { agent: Agent; onClose: () => void }) {
  const { t } = useTranslation();
  const trial = useOpMutation("agent_try");
  const { data, error, isPending } = trial;
  return (
    <Dialog
      open
      onOpenChange={(open) => !open && onClose()}
      title={t("agents.tryTitle", { name: agent.name })}
      description={t("agents.tryText")}
      actions={
        <>
          <Button onClick={onClose}>{t("action.close")}</Button>
          <Button
            variant="primary"
            icon={<FlaskConical />}
            busy={isPending}
            onClick={() => trial.mutate({ agent_id: agent.id })}
          >
            {data || error ? t("agents.tryAgain") : t("agents.tryNow")}
          </Button>
        </>
      }
    >
      <div className={styles.trial} role="status">
        {isPending && <SkeletonText lines={2} />}
        {!isPending && error && <p className={layout.error}>{errorText(error)}</p>}
        {!isPending && data && (
          <>
            <p className={styles.program} data-found={data.ok}>
              {data.ok ? <CircleCheck aria-hidden /> : <CircleX aria-hidden />}
              <span>{data.ok ? t("agents.tried") : (data.problem ?? t("agents.notTried"))}</span>
              <span className={styles.running}>
                {[
                  data.duration_ms === null ? null : took(data.duration_ms),
                  data.cost_micro_usd === null
                    ? data.ok && t("agents.costUnknown")
                    : money(data.cost_micro_usd),
                ]
                  .filter(Boolean)
                  .join(" · ")}
              </span>
            </p>
            {data.ok && data.problem && <p className={layout.error}>{data.problem}</p>}
            {data.remedy && (
              <p className={styles.remedy}>
                <Said text={data.remedy} />
              </p>
            )}
            {data.text && (
              <pre className={styles.answer} data-selectable>
                {data.text}
              </pre>
            )}
          </>
        )}
      </div>
    </Dialog>
  );
}
