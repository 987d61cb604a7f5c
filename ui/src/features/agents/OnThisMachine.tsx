/** The programs that Forge knows how to drive, and which of them are here. */
import { Plus, RefreshCw } from "lucide-react";
import { useTranslation } from "react-i18next";
import { useOp, useOpMutation } from "#ui/api/client.ts";
import type { Agent, KnownAgent } from "#ui/api/generated.ts";
import { Button } from "#ui/components/Button.tsx";
import { ErrorState } from "#ui/components/ErrorState.tsx";
import { SkeletonText } from "#ui/components/Skeleton.tsx";
import { showToast } from "#ui/components/Toast.tsx";
import { Standing } from "./Standing.tsx";
import { profileFor } from "./form.ts";
import { Row } from "#ui/components/Row.tsx";
import { Stack } from "#ui/components/Stack.tsx";
import layout from "#ui/components/layout.module.css";
import styles from "./AgentsScreen.module.css";

function Known({ known, agents }: { known: KnownAgent; agents: readonly Agent[] }) {
  const { t } = useTranslation();
  const create = useOpMutation("agent_create", {
    onSuccess: ({ name }) => showToast({ tone: "success", title: t("agents.added", { name }) }),
    onError: (error) =>
      showToast({ tone: "danger", title: t("agents.notSaved"), detail: error.message }),
  });
  const { name, check, profiles } = known;
  return (
    <li className={styles.row} data-known>
      <Stack gap={0} fill>
        <Row as="h3" gap={3}>
          {name}
          {profiles.length > 0 && (
            <span className={styles.running}>
              {t("agents.usedBy", { names: profiles.join(", ") })}
            </span>
          )}
        </Row>
        <Standing check={check} optional />
      </Stack>
      {check.found && (
        <Button
          size="sm"
          icon={<Plus />}
          aria-label={t("agents.addKnown", { name })}
          busy={create.isPending}
          onClick={() =>
            create.mutate(
              profileFor(
                known,
                agents.map((agent) => agent.name),
              ),
            )
          }
        >
          {t("agents.add")}
        </Button>
      )}
    </li>
  );
}

export function OnThisMachine({ agents }: { agents: readonly Agent[] }) {
  const { t } = useTranslation();
  const known = useOp("agent_known", {});
  const title = t("agents.machine");
  // Those that are here first.
  const items = known.data?.items.toSorted(
    (one, other) => Number(other.check.found) - Number(one.check.found),
  );
  return (
    <Stack as="section" gap={3} aria-label={title}>
      <div className={styles.sectionHead}>
        <h2>{title}</h2>
        <Button
          size="sm"
          variant="ghost"
          icon={<RefreshCw />}
          busy={known.isFetching && known.data !== undefined}
          onClick={() => void known.refetch()}
        >
          {t("agents.lookAgain")}
        </Button>
      </div>
      {known.error ? (
        <ErrorState
          title={t("agents.machineFailed")}
          error={known.error}
          onRetry={() => void known.refetch()}
        />
      ) : items ? (
        <ul className={layout.surface} aria-label={title}>
          {items.map((each) => (
            <Known key={each.name} known={each} agents={agents} />
          ))}
        </ul>
      ) : (
        <SkeletonText lines={4} />
      )}
    </Stack>
  );
}
