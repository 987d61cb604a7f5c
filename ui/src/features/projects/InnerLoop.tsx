/** The inner loop's configuration: each value with where it comes from, and what `.forge.json` says. */
import { useState, type ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { useOp } from "#ui/api/client.ts";
import { findingAt } from "#ui/api/findings.ts";
import type { InnerLoopState, Project, RepositoryConfig } from "#ui/api/generated.ts";
import { rowsOf, strategiesOf, type StrategyRow } from "#ui/domain/race/strategies.ts";
import { StrategyFields } from "#ui/domain/race/StrategyFields.tsx";
import { Banner } from "#ui/components/Banner.tsx";
import { Button } from "#ui/components/Button.tsx";
import { CodeBlock } from "#ui/components/CodeBlock.tsx";
import { CopyButton } from "#ui/components/CopyButton.tsx";
import { ErrorState } from "#ui/components/ErrorState.tsx";
import { Select } from "#ui/components/Select.tsx";
import { SkeletonText } from "#ui/components/Skeleton.tsx";
import { Frame, SettingsProvider, SwitchSetting, TextSetting, useSettings } from "./Setting.tsx";
import { patchAt } from "./settingsPath.ts";
import styles from "./settings.module.css";

const key = "innerLoop";

function Strategies({ saved }: { saved: readonly StrategyRow[] }) {
  const { t } = useTranslation();
  const { error, busy, patch } = useSettings();
  const [rows, setRows] = useState(saved);
  const path = `${key}.competitive.strategies`;
  const label = t("race.strategies");
  const changed = JSON.stringify(rows) !== JSON.stringify(saved);
  return (
    <Frame path={path} label={label}>
      <div className={styles.lines} role="group" aria-label={label}>
        <span className={styles.label}>{label}</span>
        <span className={styles.hint}>{t("race.strategiesHint")}</span>
        <StrategyFields rows={rows} onChange={setRows} error={error} path={path} />
        {changed && (
          <div className={styles.buttons}>
            <Button
              size="sm"
              variant="primary"
              busy={busy}
              onClick={() => patch(patchAt(path, strategiesOf(rows)))}
            >
              {t("projectSettings.save")}
            </Button>
            <Button size="sm" variant="ghost" onClick={() => setRows(saved)}>
              {t("action.cancel")}
            </Button>
          </div>
        )}
      </div>
    </Frame>
  );
}

const coder = "";

function Drafter({ agentId }: { agentId: string | null }) {
  const { t } = useTranslation();
  const { error, busy, patch } = useSettings();
  const agents = useOp("agent_list", {}).data?.items ?? [];
  const path = `${key}.autoFix.agentId`;
  const label = t("innerLoop.field.agentId");
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

function Group({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section className={styles.heading} aria-label={title}>
      <h2 className={styles.label}>{title}</h2>
      <div className={styles.card}>{children}</div>
    </section>
  );
}

/** A switch, and a hint where its name leaves something open. */
function On({ path, name, hint }: { path: string; name: string; hint?: string }) {
  return <SwitchSetting path={`${key}.${path}`} label={name} {...(hint ? { hint } : {})} />;
}

function Races({ state }: { state: InnerLoopState }) {
  const { t } = useTranslation();
  const saved = rowsOf(state.config.competitive?.strategies ?? []);
  return (
    <Group title={t("innerLoop.group.races")}>
      <On
        path="competitive.enabled"
        name={t("innerLoop.field.competitive")}
        hint={t("innerLoop.field.competitiveHint")}
      />
      {/* What came from elsewhere starts the fields anew. */}
      <Strategies key={JSON.stringify(saved)} saved={saved} />
      <TextSetting
        path={`${key}.competitive.maxParallel`}
        kind="number"
        label={t("race.maxParallel")}
        hint={t("race.maxParallelHint")}
      />
      <TextSetting
        path={`${key}.competitive.timeoutSec`}
        kind="number"
        label={t("race.timeout")}
        hint={t("race.timeoutHint")}
        suffix={t("race.seconds")}
      />
      <On
        path="reviewer.enabled"
        name={t("innerLoop.field.reviewer")}
        hint={t("innerLoop.field.reviewerHint")}
      />
      <On
        path="competitive.humanCrown"
        name={t("innerLoop.field.humanCrown")}
        hint={t("innerLoop.field.humanCrownHint")}
      />
      <On
        path="competitive.nameDecides"
        name={t("innerLoop.field.nameDecides")}
        hint={t("innerLoop.field.nameDecidesHint")}
      />
      <TextSetting
        path={`${key}.competitive.keepLosersDays`}
        kind="number"
        label={t("innerLoop.field.keepLosersDays")}
        hint={t("innerLoop.field.keepLosersDaysHint")}
        suffix={t("innerLoop.field.days")}
      />
    </Group>
  );
}

function Fixes({ state }: { state: InnerLoopState }) {
  const { t } = useTranslation();
  return (
    <Group title={t("innerLoop.group.fixes")}>
      <On
        path="autoFix.enabled"
        name={t("innerLoop.field.autoFix")}
        hint={t("innerLoop.field.autoFixHint")}
      />
      <On
        path="autoFix.applyWithoutReview"
        name={t("innerLoop.field.applyWithoutReview")}
        hint={t("innerLoop.field.applyWithoutReviewHint")}
      />
      <TextSetting
        path={`${key}.autoFix.maxChangedLines`}
        kind="number"
        label={t("innerLoop.field.maxChangedLines")}
      />
      <Drafter agentId={state.config.autoFix?.agentId ?? null} />
    </Group>
  );
}

function Anomalies() {
  const { t } = useTranslation();
  return (
    <Group title={t("innerLoop.group.costs")}>
      <On
        path="costAnomaly.enabled"
        name={t("innerLoop.field.costAnomaly")}
        hint={t("innerLoop.field.costAnomalyHint")}
      />
      <TextSetting
        path={`${key}.costAnomaly.ratio`}
        kind="decimal"
        label={t("innerLoop.field.ratio")}
      />
      <TextSetting
        path={`${key}.costAnomaly.medianWindow`}
        kind="number"
        label={t("innerLoop.field.medianWindow")}
        hint={t("innerLoop.field.medianWindowHint")}
      />
      <TextSetting
        path={`${key}.costAnomaly.minSamples`}
        kind="number"
        label={t("innerLoop.field.minSamples")}
        hint={t("innerLoop.field.minSamplesHint")}
      />
    </Group>
  );
}

const lessons = ["reflexion", "trajectory", "knowledge", "postmortem", "gateSuggestions"] as const;

function Teaches() {
  const { t } = useTranslation();
  return (
    <>
      <Group title={t("innerLoop.group.reviews")}>
        <On
          path="stopOnStagnation"
          name={t("innerLoop.field.stopOnStagnation")}
          hint={t("innerLoop.field.stopOnStagnationHint")}
        />
      </Group>
      <Group title={t("innerLoop.group.teaches")}>
        {lessons.map((each) => (
          <On
            key={each}
            path={`${each}.enabled`}
            name={t(`innerLoop.field.${each}`)}
            hint={t(`innerLoop.field.${each}Hint`)}
          />
        ))}
      </Group>
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
      {read !== null && read.findings.length > 0 && (
        <Banner
          tone="warning"
          title={t("innerLoop.file.broken")}
          evidence={
            <ul className={styles.lines} data-selectable>
              {read.findings.map(({ path, message }) => (
                <li key={`${path} ${message}`}>
                  {path && <code>{path}</code>} {message}
                </li>
              ))}
            </ul>
          }
        >
          {t("innerLoop.file.brokenText", { commit: short(read.looked_at) })}
        </Banner>
      )}
      {read === null && <p className={styles.hint}>{t("innerLoop.file.unread")}</p>}
      {read !== null && !isThere && <p className={styles.hint}>{t("innerLoop.file.none")}</p>}
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
            <p className={styles.hint}>{t("innerLoop.file.saysNothing")}</p>
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
      <p className={styles.hint}>{t("innerLoop.intro")}</p>
      <Races state={read.data} />
      <Fixes state={read.data} />
      <Anomalies />
      <Teaches />
      <RepositoryFile read={repository} />
    </SettingsProvider>
  );
}
