/** One changed file: its head, and its rows in colours, plain, or a word on why not. */
import { FileCode2, FileDigit } from "lucide-react";
import { lazy, Suspense, useEffect, useMemo, useState, type Ref } from "react";
import { useTranslation } from "react-i18next";
import type { FileChange, Scope } from "#ui/api/generated.ts";
import { Badge } from "#ui/components/Badge.tsx";
import { Button } from "#ui/components/Button.tsx";
import { Checkbox } from "#ui/components/Checkbox.tsx";
import { CopyButton } from "#ui/components/CopyButton.tsx";
import { DiffCount } from "#ui/components/DiffCount.tsx";
import { EmptyState } from "#ui/components/EmptyState.tsx";
import { ErrorState } from "#ui/components/ErrorState.tsx";
import { SkeletonText } from "#ui/components/Skeleton.tsx";
import { bytes } from "#ui/app/size.ts";
import { whole } from "../numbers.ts";
import { Fallback } from "./Fallback.tsx";
import { KindMark } from "./KindMark.tsx";
import { PlainDiff } from "./PlainDiff.tsx";
import { changeStarts, diffRows, type ChangeStart } from "./hunks.ts";
import { useFileDiff } from "./useFileDiff.ts";
import type { DiffStyle, DiffViewHandle } from "./view.ts";
import styles from "./FileView.module.css";

const ColourDiff = lazy(() => import("./ColourDiff.tsx"));

/** Colours are made in a worker; where there is none, plain rows say the same. */
const hasWorkers = typeof Worker !== "undefined";

export interface FileViewProps {
  readonly taskId: string;
  readonly scope: Scope;
  readonly change: FileChange;
  readonly diffStyle: DiffStyle;
  readonly viewed: boolean;
  readonly onViewed: (viewed: boolean) => void;
  readonly onChanges: (changes: readonly ChangeStart[]) => void;
  readonly handle: Ref<DiffViewHandle>;
}

function Head({ change, viewed, onViewed }: Pick<FileViewProps, "change" | "viewed" | "onViewed">) {
  const { t } = useTranslation();
  const folder = change.path.slice(0, change.path.lastIndexOf("/") + 1);
  return (
    <header className={styles.head}>
      <KindMark kind={change.kind} />
      <h3 className={styles.path} title={change.path}>
        {change.old_path && change.old_path !== change.path && (
          <span className={styles.folder}>{`${change.old_path} → `}</span>
        )}
        <span className={styles.folder}>{folder}</span>
        {change.path.slice(folder.length)}
      </h3>
      <CopyButton text={change.path} label={t("diff.copyPath")} />
      {change.untracked && <Badge look="outline">{t("diff.untracked")}</Badge>}
      {!change.binary && <DiffCount added={change.added} removed={change.removed} />}
      <Checkbox label={t("diff.viewed")} checked={viewed} onChange={onViewed} />
    </header>
  );
}

function sizes(change: FileChange): string {
  return [change.old_size, change.new_size]
    .filter((size) => size !== null)
    .map((size) => bytes(size))
    .join(" → ");
}

function Body({
  taskId,
  scope,
  change,
  diffStyle,
  onChanges,
  handle,
}: Omit<FileViewProps, "viewed" | "onViewed">) {
  const { t } = useTranslation();
  const [asked, setAsked] = useState(false);
  const folded = change.generated && !asked;
  const diff = useFileDiff(taskId, scope, change.path, {
    force: asked,
    enabled: !change.binary && !folded,
  });
  const { hunks } = diff;
  const rows = useMemo(() => diffRows(hunks), [hunks]);
  useEffect(() => onChanges(changeStarts(rows)), [rows, onChanges]);

  if (change.binary) {
    return (
      <EmptyState icon={<FileDigit />} title={t("diff.binaryTitle")}>
        {sizes(change)}
      </EmptyState>
    );
  }
  const show = <Button onClick={() => setAsked(true)}>{t("diff.show")}</Button>;
  if (folded) {
    return (
      <EmptyState icon={<FileCode2 />} title={t("diff.generatedTitle")} actions={show}>
        {t("diff.generatedText")}
      </EmptyState>
    );
  }
  if (diff.error && !diff.ready) {
    return <ErrorState title={t("diff.fileFailed")} error={diff.error} onRetry={diff.retry} />;
  }
  if (!diff.ready || !diff.first) {
    return (
      <div className={styles.loading} aria-busy>
        <SkeletonText lines={8} />
      </div>
    );
  }
  if (diff.first.too_large) {
    return (
      <EmptyState icon={<FileCode2 />} title={t("diff.largeTitle")} actions={show}>
        {t("diff.largeText", { rows: whole(diff.first.total_rows), size: sizes(change) })}
      </EmptyState>
    );
  }
  if (rows.length === 0) {
    const modes = [change.old_mode, change.new_mode].filter(Boolean).join(" → ");
    return <EmptyState title={t("diff.noContent")}>{modes}</EmptyState>;
  }
  const label = t("diff.changesIn", { path: change.path });
  const plain = (
    <PlainDiff
      rows={rows}
      columns={diff.columns}
      label={label}
      onEndReached={diff.more}
      handle={handle}
    />
  );
  return (
    <>
      {diff.plain && <p className={styles.notice}>{t("diff.plain")}</p>}
      {diff.first.lossy && <p className={styles.notice}>{t("diff.lossy")}</p>}
      {diff.plain || !hasWorkers ? (
        plain
      ) : (
        <Fallback instead={plain}>
          <Suspense fallback={<div className={styles.loading} aria-busy />}>
            <ColourDiff
              change={diff.first.change}
              hunks={hunks}
              diffStyle={diffStyle}
              label={label}
              handle={handle}
            />
          </Suspense>
        </Fallback>
      )}
      {diff.error && (
        <ErrorState title={t("diff.fileFailed")} error={diff.error} onRetry={diff.retry} />
      )}
    </>
  );
}

export function FileView({ viewed, onViewed, ...rest }: FileViewProps) {
  return (
    <section className={styles.file} aria-label={rest.change.path}>
      <Head change={rest.change} viewed={viewed} onViewed={onViewed} />
      <Body {...rest} />
    </section>
  );
}
