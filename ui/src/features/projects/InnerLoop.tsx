/** The inner loop's configuration: each value with where it comes from, and what `.forge.json` says. */
import { useTranslation } from "react-i18next";
import { useOp } from "#ui/api/client.ts";
import { findingAt } from "#ui/api/findings.ts";
import type { InnerLoopState, Project, RepositoryConfig } from "#ui/api/generated.ts";
import { rowsOf, strategiesOf, type StrategyRow } from "#ui/domain/race/strategies.ts";
import { StrategyFields } from "#ui/domain/race/StrategyFields.tsx";
import { CodeBlock } from "#ui/components/CodeBlock.tsx";
import { CopyButton } from "#ui/components/CopyButton.tsx";
import { ErrorState } from "#ui/components/ErrorState.tsx";
import { Select } from "#ui/components/Select.tsx";
import { SkeletonText } from "#ui/components/Skeleton.tsx";
import { BrokenFile } from "./BrokenFile.tsx";
import { Fields, type FieldsProps } from "./Fields.tsx";
import {
  anomalyFields,
  fixFields,
  raceFields,
  reviewFields,
  teachFields,
} from "./innerLoopFields.ts";
import { Frame } from "./Setting.tsx";
import { SettingsProvider, useSettings } from "./settingsContext.ts";
import { patchAt, valueAt } from "./settingsPath.ts";
import { useEdited } from "./useEdited.ts";
import { Stack } from "#ui/components/Stack.tsx";
import layout from "#ui/components/layout.module.css";
import styles from "./settings.module.css";

const key = "innerLoop";
type InnerLoopStrategies = Parameters<typeof rowsOf>[0] | undefined;

function Strategies({ inForce }: { inForce: readonly StrategyRow[] }) {
  const { t } = useTranslation();
  const { view, error, isReset } = useSettings();
  const path = `${key}.competitive.strategies`;
  const own = valueAt(view.own, path) as InnerLoopStrategies;
  const { typed: rows, set } = useEdited<readonly StrategyRow[]>({
    path,
    shown: own ? rowsOf(own) : isReset(path) ? [] : inForce,
    said: strategiesOf,
  });
  const label = t("race.strategies");
  return (
    <Frame path={path} label={label}>
      <Stack gap={2} role="group" aria-label={label}>
        <span className={styles.label}>{label}</span>
        <span className={layout.note}>{t("race.strategiesHint")}</span>
        <StrategyFields rows={rows} onChange={set} error={error} path={path} />
      </Stack>
    </Frame>
  );
}

const coder = "";

function Drafter({ inForce }: { inForce: string | null }) {
  const { t } = useTranslation();
  const { view, error, busy, patch, isReset } = useSettings();
  const agents = useOp("agent_list", {}).data?.items ?? [];
  const path = `${key}.autoFix.agentId`;
  const label = t("innerLoop.field.agentId");
  const own = valueAt(view.own, path);
  const agentId = typeof own === "string" ? own : isReset(path) ? null : inForce;
  return (
    <Frame path={path} label={label}>
      <Select
        label={label}
        hint={t("innerLoop.field.agentIdHint")}
        value={agentId ?? coder}
        disabled={busy}
        error={findingAt(error, path)}
        options={[
          { value: coder, label: t("innerLoop.field.coder") },
          ...agents.map(({ id, name }) => ({ value: id, label: name })),
        ]}
        onChange={(next) => patch(patchAt(path, next === coder ? null : next))}
      />
    </Frame>
  );
}

function Group({ title, ...table }: { title: string } & FieldsProps) {
  return (
    <section className={styles.heading} aria-label={title}>
      <h2 className={styles.label}>{title}</h2>
      <Fields {...table} />
    </section>
  );
}

function Groups({ state: { config } }: { state: InnerLoopState }) {
  const { t } = useTranslation();
  const strategies = <Strategies inForce={rowsOf(config.competitive?.strategies ?? [])} />;
  const drafter = <Drafter inForce={config.autoFix?.agentId ?? null} />;
  return (
    <>
      <Group title={t("innerLoop.group.races")} fields={raceFields} parts={{ strategies }} />
      <Group title={t("innerLoop.group.fixes")} fields={fixFields} parts={{ drafter }} />
      <Group title={t("innerLoop.group.costs")} fields={anomalyFields} />
      <Group title={t("innerLoop.group.reviews")} fields={reviewFields} />
      <Group title={t("innerLoop.group.teaches")} fields={teachFields} />
    </>
  );
}

const short = (commit: string): string => commit.slice(0, 8);

function Commit({ text, commit }: { text: string; commit: string }) {
  const { t } = useTranslation();
  return (
    <p className={styles.ready}>
      {text}
      <CopyButton text={commit} label={t("innerLoop.file.copyCommit", { commit: short(commit) })} />
    </p>
  );
}

/** What the repository says, with what is wrong in it. */
function RepositoryFile({ read }: { read: RepositoryConfig | null }) {
  const { t } = useTranslation();
  const says = read?.inner_loop;
  const isSaid = typeof says === "object" && says !== null && Object.keys(says).length > 0;
  const isThere = read !== null && (read.commit !== null || read.findings.length > 0);
  return (
    <section className={styles.heading} aria-label={t("innerLoop.file.title")}>
      <h2 className={styles.label}>{t("innerLoop.file.title")}</h2>
      {read && <BrokenFile read={read} />}
      {read === null && <p className={layout.note}>{t("innerLoop.file.unread")}</p>}
      {read !== null && !isThere && <p className={layout.note}>{t("innerLoop.file.none")}</p>}
      {read?.commit && (
        <>
          <Commit
            text={t("innerLoop.file.inForce", { commit: short(read.commit) })}
            commit={read.commit}
          />
          {isSaid ? (
            <CodeBlock
              caption={t("innerLoop.file.says")}
              code={JSON.stringify({ [key]: says }, null, 2)}
            />
          ) : (
            <p className={layout.note}>{t("innerLoop.file.saysNothing")}</p>
          )}
        </>
      )}
    </section>
  );
}

export function InnerLoop({ project }: { project: Project }) {
  const { t } = useTranslation();
  const access = useSettings();
  const read = useOp("project_inner_loop", { project_id: project.id });
  if (read.error) {
    return (
      <ErrorState
        title={t("innerLoop.failed")}
        error={read.error}
        onRetry={() => void read.refetch()}
      />
    );
  }
  if (!read.data) return <SkeletonText lines={8} />;
  const { sources, repository } = read.data;
  const sourceOf = (path: string) => sources[path.slice(key.length + 1)];
  return (
    <SettingsProvider value={{ ...access, sourceOf }}>
      <p className={layout.note}>{t("innerLoop.intro")}</p>
      <Groups state={read.data} />
      <RepositoryFile read={repository} />
    </SettingsProvider>
  );
}
