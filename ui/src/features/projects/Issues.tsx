/** Issues of a project: which are imported automatically, and what is written to them. */
import { useTranslation } from "react-i18next";
import { useOp } from "#ui/api/client.ts";
import { findingAt } from "#ui/api/findings.ts";
import type { IssueRule, Project } from "#ui/api/generated.ts";
import { formatRoute } from "#ui/app/router.ts";
import { Banner } from "#ui/components/Banner.tsx";
import { Select } from "#ui/components/Select.tsx";
import { Stack } from "#ui/components/Stack.tsx";
import { Switch } from "#ui/components/Switch.tsx";
import { TextField } from "#ui/components/TextField.tsx";
import layout from "#ui/components/layout.module.css";
import { useStartStates } from "#ui/domain/issues/useStartStates.ts";
import { issueReportFields } from "./fields.ts";
import { Fields } from "./Fields.tsx";
import { ruleDraftOf, ruleOf, usualMinutes, type RuleDraft } from "./issueRule.ts";
import { onEnter } from "./onEnter.ts";
import { Frame } from "./Setting.tsx";
import { useSettings } from "./settingsContext.ts";
import { patchAt, valueAt } from "./settingsPath.ts";
import { StateLabels } from "./StateLabels.tsx";
import { typing } from "./typed.ts";
import { useEdited } from "./useEdited.ts";
import styles from "./settings.module.css";

const path = "issues.rule";

/** Where issues come from; it is set up beside the pull requests. */
function Source({ project }: { project: Project }) {
  const { t } = useTranslation();
  const standing = useOp("project_code_host", { project_id: project.id }).data;
  const host = standing?.host;
  const link = (
    <a href={formatRoute("projectSettings", { project: project.id }, { tab: "pullRequests" })}>
      {t("issueSettings.toHost")}
    </a>
  );
  if (standing && (host === null || standing.problem !== null)) {
    return (
      <Banner
        tone="warning"
        title={t(host === null ? "issues.noHost" : "codeHost.problem")}
        more={link}
      >
        {host === null ? t("codeHost.nothing") : `${standing.problem} ${standing.remedy ?? ""}`}
      </Banner>
    );
  }
  return (
    <p className={layout.note}>
      {host &&
        t("issueSettings.host", {
          kind: t(`codeHost.kinds.${host.kind}`),
          owner: host.owner,
          repo: host.repo,
        })}{" "}
      {link}
    </p>
  );
}

function RuleFields({ project, rule }: { project: Project; rule: IssueRule }) {
  const { t } = useTranslation();
  const { error, busy, submit } = useSettings();
  const states = useStartStates(project.id);
  const { typed, set, wrong } = useEdited<RuleDraft>({
    path,
    shown: ruleDraftOf(rule),
    said: ruleOf,
    isWrong: (draft) => ruleOf(draft).labels.length === 0,
  });
  const into = typed.into ?? states[0]?.name ?? null;
  const known = states.map(({ name, display_name: label }) => ({ value: name, label }));
  const isKnown = known.some(({ value }) => value === into);
  return (
    <div className={styles.host}>
      <div className={styles.whole}>
        <TextField
          label={t("issueSettings.labels")}
          hint={t("issueSettings.labelsHint")}
          placeholder={t("issues.labelsExample")}
          value={typed.labels}
          error={
            findingAt(error, `${path}.labels`) ?? (wrong ? t("issueSettings.noLabels") : undefined)
          }
          onKeyDown={onEnter(submit)}
          onChange={(labels) => set({ ...typed, labels })}
        />
      </div>
      <Select
        label={t("issues.into")}
        value={into}
        disabled={busy}
        options={isKnown || into === null ? known : [...known, { value: into, label: into }]}
        error={findingAt(error, `${path}.into`)}
        onChange={(next) => set({ ...typed, into: next === states[0]?.name ? null : next })}
      />
      <TextField
        label={t("issueSettings.every")}
        inputMode="numeric"
        placeholder={String(usualMinutes)}
        suffix={t("issueSettings.minutes")}
        value={typed.minutes}
        error={findingAt(error, `${path}.every_minutes`)}
        onKeyDown={onEnter(submit)}
        onChange={(text) => set({ ...typed, minutes: typing.number.typed(text) })}
      />
    </div>
  );
}

function Rule({ project }: { project: Project }) {
  const { t } = useTranslation();
  const { view, saved, busy, error, patch } = useSettings();
  const rule = (valueAt(view.own, path) ?? null) as IssueRule | null;
  const fields = ["labels", "into", "every_minutes"];
  const inFields = fields.some((field) => findingAt(error, `${path}.${field}`));
  const rest = inFields ? undefined : findingAt(error, path);
  const label = t("issueSettings.rule");
  return (
    <Frame path={path} label={label}>
      <Stack gap={4}>
        <Switch
          label={label}
          hint={t("issueSettings.ruleHint")}
          disabled={busy}
          checked={rule !== null}
          onChange={(on) =>
            patch(patchAt(path, on ? (valueAt(saved.own, path) ?? { labels: [] }) : null))
          }
        />
        {rule && <RuleFields project={project} rule={rule} />}
        {rest && <span className={styles.error}>{rest}</span>}
      </Stack>
    </Frame>
  );
}

export function Issues({ project }: { project: Project }) {
  const { t } = useTranslation();
  return (
    <>
      <Source project={project} />
      <div className={styles.card}>
        <Rule project={project} />
      </div>
      <section className={styles.heading} aria-label={t("issueSettings.reports")}>
        <h2>{t("issueSettings.reports")}</h2>
        <p className={layout.note}>{t("issueSettings.reportsHint")}</p>
        <Fields
          fields={issueReportFields}
          parts={{ labels: <StateLabels projectId={project.id} /> }}
        />
      </section>
    </>
  );
}
