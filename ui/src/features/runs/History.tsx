/** Runs of agents that are over, the latest first, with ways to what they said and changed. */
import { Search } from "lucide-react";
import { useState } from "react";
import { useTranslation } from "react-i18next";
import { useOp, useOpPages } from "#ui/api/client.ts";
import type { CostRow, ExecutionStatus } from "#ui/api/generated.ts";
import { formatRoute, type Query } from "#ui/app/router.ts";
import { Badge } from "#ui/components/Badge.tsx";
import { Button } from "#ui/components/Button.tsx";
import { ErrorState } from "#ui/components/ErrorState.tsx";
import { RelativeTime } from "#ui/components/RelativeTime.tsx";
import { Row } from "#ui/components/Row.tsx";
import { Select } from "#ui/components/Select.tsx";
import { SkeletonText } from "#ui/components/Skeleton.tsx";
import { Stack } from "#ui/components/Stack.tsx";
import { TextField } from "#ui/components/TextField.tsx";
import { Truncate } from "#ui/components/Truncate.tsx";
import layout from "#ui/components/layout.module.css";
import { any, ended, isShown, type Filter } from "./history.ts";
import styles from "./Runs.module.css";

const tones = {
  finished: "success",
  failed: "danger",
  cancelled: "neutral",
  lost: "danger",
} as const;

function Run({ run }: { run: CostRow }) {
  const { t } = useTranslation();
  const to = (query: Query = {}) =>
    formatRoute("task", { project: run.project_id, number: String(run.task_number) }, query);
  const log = to({ tab: "conversation", run: run.execution_id });
  const title = `#${run.task_number} ${run.task_title}`;
  const status = ended.find((each) => each === run.status);
  return (
    <li className={styles.row}>
      <div className={styles.text}>
        <a className={styles.title} href={to()}>
          <span className={styles.number}>#{run.task_number}</span>
          <Truncate>{run.task_title}</Truncate>
        </a>
        <p className={styles.meta}>
          <span>{run.agent_name}</span>
          <span>{t(`costPage.roles.${run.role}`)}</span>
          <span>{run.project_name}</span>
          <RelativeTime at={run.ended_at} />
        </p>
      </div>
      {status && <Badge tone={tones[status]}>{t(`runs.ended.${status}`)}</Badge>}
      <a className={styles.go} href={log} aria-label={t("runs.logOf", { title })}>
        {t("runs.log")}
      </a>
      <a
        className={styles.go}
        href={to({ tab: "diff" })}
        aria-label={t("runs.changesOf", { title })}
      >
        {t("runs.changes")}
      </a>
    </li>
  );
}

export function History() {
  const { t } = useTranslation();
  const [filter, setFilter] = useState<Filter>({ text: "", status: any });
  const [project, setProject] = useState(any);
  const projects = useOp("project_list", {}).data?.items ?? [];
  const rows = useOpPages("cost_ledger", {
    limit: 100,
    ...(project === any ? {} : { project }),
  });
  const shown = rows.data?.filter((run) => isShown(run, filter)) ?? [];
  const anyOption = { value: any, label: t("runs.any") };
  return (
    <section aria-labelledby="runs-history">
      <Stack gap={3}>
        <h2 id="runs-history" className={styles.heading}>
          {t("runs.history")}
        </h2>
        <Row wrap gap={3}>
          <TextField
            label={t("runs.search")}
            icon={<Search />}
            value={filter.text}
            onChange={(text) => setFilter({ ...filter, text })}
          />
          <Select
            label={t("runs.status")}
            value={filter.status}
            options={[
              anyOption,
              ...ended.map((value) => ({ value, label: t(`runs.ended.${value}`) })),
            ]}
            onChange={(status) => setFilter({ ...filter, status: status as ExecutionStatus })}
          />
          <Select
            label={t("runs.project")}
            value={project}
            options={[anyOption, ...projects.map(({ id, name }) => ({ value: id, label: name }))]}
            onChange={setProject}
          />
        </Row>
        {rows.error ? (
          <ErrorState
            title={t("runs.historyFailed")}
            error={rows.error}
            onRetry={() => void rows.refetch()}
          />
        ) : !rows.data ? (
          <SkeletonText lines={4} />
        ) : shown.length === 0 ? (
          <p className={layout.note} role="status">
            {t(rows.data.length === 0 ? "runs.noHistory" : "runs.noneFits")}
          </p>
        ) : (
          <ul className={styles.list} aria-label={t("runs.history")}>
            {shown.map((run) => (
              <Run key={run.execution_id} run={run} />
            ))}
          </ul>
        )}
        {rows.hasNextPage && (
          <Button
            variant="ghost"
            busy={rows.isFetchingNextPage}
            onClick={() => void rows.fetchNextPage()}
          >
            {t("costPage.more")}
          </Button>
        )}
      </Stack>
    </section>
  );
}
