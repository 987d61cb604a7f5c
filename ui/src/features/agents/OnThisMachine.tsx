/** The programs that Forge knows how to drive, and which of them are here. */
import { RefreshCw } from "lucide-react";
import { useTranslation } from "react-i18next";
import { useOp } from "#ui/api/client.ts";
import type { Agent, KnownAgent } from "#ui/api/generated.ts";
import { Button } from "#ui/components/Button.tsx";
import { ErrorState } from "#ui/components/ErrorState.tsx";
import { SkeletonText } from "#ui/components/Skeleton.tsx";
import { KnownProgram } from "#ui/domain/programs/KnownProgram.tsx";
import { Stack } from "#ui/components/Stack.tsx";
import layout from "#ui/components/layout.module.css";
import styles from "./AgentsScreen.module.css";

interface Part {
  readonly title: string;
  readonly items: readonly KnownAgent[];
}

/** Programs that no agent uses yet, and below them those that are not installed. */
export function OnThisMachine({ agents }: { agents: readonly Agent[] }) {
  const { t } = useTranslation();
  const known = useOp("agent_known", {});
  const items = known.data?.items;
  const parts: Part[] = [
    {
      title: t("agents.machine"),
      items: items?.filter(({ check, profiles }) => check.found && profiles.length === 0) ?? [],
    },
    { title: t("agents.missing"), items: items?.filter(({ check }) => !check.found) ?? [] },
  ];
  const shown = parts.filter((part) => part.items.length > 0);
  const again = (
    <Button
      size="sm"
      variant="ghost"
      icon={<RefreshCw />}
      busy={known.isFetching && known.data !== undefined}
      onClick={() => void known.refetch()}
    >
      {t("agents.lookAgain")}
    </Button>
  );
  if (known.error) {
    return (
      <ErrorState
        title={t("agents.machineFailed")}
        error={known.error}
        onRetry={() => void known.refetch()}
      />
    );
  }
  if (!items) return <SkeletonText lines={4} />;
  if (shown.length === 0) return <div className={styles.sectionHead}>{again}</div>;
  return shown.map(({ title, items: programs }, index) => (
    <Stack as="section" gap={3} key={title} aria-label={title}>
      <div className={styles.sectionHead}>
        <h2>{title}</h2>
        {index === 0 && again}
      </div>
      <ul className={layout.surface} aria-label={title}>
        {programs.map((each) => (
          <KnownProgram key={each.name} known={each} agents={agents} />
        ))}
      </ul>
    </Stack>
  ));
}
