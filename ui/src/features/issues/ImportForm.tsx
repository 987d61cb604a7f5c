/** Where issues come from, and the state of the tasks that they become. */
import type { RefObject } from "react";
import { useTranslation } from "react-i18next";
import { findingAt } from "#ui/api/findings.ts";
import type { IssueImport } from "#ui/api/generated.ts";
import { Banner } from "#ui/components/Banner.tsx";
import { Button } from "#ui/components/Button.tsx";
import { RelativeTime } from "#ui/components/RelativeTime.tsx";
import { Select } from "#ui/components/Select.tsx";
import { Tabs } from "#ui/components/Tabs.tsx";
import { CodeHostTab } from "./CodeHostTab.tsx";
import { FileTab } from "./FileTab.tsx";
import { StatusBadge } from "./ImportProgress.tsx";
import type { ImportFormState, Source } from "./useImportForm.ts";
import styles from "./issues.module.css";

/** What came of the latest import, also when nobody looked. */
function LastImport({ last, onShow }: { last: IssueImport; onShow: () => void }) {
  const { t } = useTranslation();
  return (
    <div className={styles.last}>
      <span>{t("issues.last", { source: last.source })}</span>
      <StatusBadge status={last.status} />
      {last.finished_at !== null && <RelativeTime at={last.finished_at} />}
      <Button size="sm" variant="ghost" onClick={onShow}>
        {t("issues.showLast")}
      </Button>
    </div>
  );
}

export function ImportForm({
  form,
  last,
  ref,
  onShow,
  onLeave,
}: {
  form: ImportFormState;
  /** Null when nothing was imported yet. */
  last: IssueImport | null;
  ref: RefObject<HTMLDivElement | null>;
  onShow: (last: IssueImport) => void;
  onLeave: () => void;
}) {
  const { t } = useTranslation();
  const { tab, states, into, error, rest } = form;
  return (
    <>
      {rest && (
        <Banner tone="danger" title={t("issues.notStarted")}>
          {rest}
        </Banner>
      )}
      <div ref={ref} className={styles.tabs} tabIndex={-1}>
        <Tabs<Source>
          label={t("issues.sources")}
          value={tab}
          onChange={form.setTab}
          tabs={[
            {
              id: "host",
              label: t("issues.host"),
              panel: <CodeHostTab form={form} onLeave={onLeave} />,
            },
            { id: "file", label: t("issues.file"), panel: <FileTab form={form} /> },
          ]}
        />
      </div>
      <Select
        label={t("issues.into")}
        value={into}
        options={states.map(({ name, display_name: label }) => ({ value: name, label }))}
        error={findingAt(error, "into")}
        onChange={form.setInto}
      />
      {last && <LastImport last={last} onShow={() => onShow(last)} />}
    </>
  );
}

export function FormActions({ form, onClose }: { form: ImportFormState; onClose: () => void }) {
  const { t } = useTranslation();
  const { tab, picked, isStale, canSend, isPending, send } = form;
  return (
    <>
      {isStale && (
        <p className={styles.stale} role="status">
          {t("issues.stale")}
        </p>
      )}
      <Button onClick={onClose}>{t("action.cancel")}</Button>
      <Button variant="primary" busy={isPending} disabled={!canSend} onClick={send}>
        {tab === "file"
          ? t("issues.importFile")
          : picked.size > 0
            ? t("issues.importPicked", { count: picked.size })
            : t("issues.importAll")}
      </Button>
    </>
  );
}
