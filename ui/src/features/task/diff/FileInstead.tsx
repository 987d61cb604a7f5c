/** What stands in the place of a file's rows: a picture, or a word on why there are none. */
import { FileCode2 } from "lucide-react";
import { useTranslation } from "react-i18next";
import type { FileChange, Scope } from "#ui/api/generated.ts";
import { Button } from "#ui/components/Button.tsx";
import { EmptyState } from "#ui/components/EmptyState.tsx";
import { ErrorState } from "#ui/components/ErrorState.tsx";
import { SkeletonText } from "#ui/components/Skeleton.tsx";
import { bytes } from "#ui/domain/size.ts";
import { whole } from "../numbers.ts";
import { ImageDiff } from "./ImageDiff.tsx";
import type { Instead } from "./items.ts";
import type { FileState } from "./loader.ts";
import styles from "./FileHead.module.css";

export interface FileInsteadProps {
  readonly taskId: string;
  readonly scope: Scope;
  readonly change: FileChange;
  readonly what: Instead;
  readonly state: FileState | undefined;
  readonly onShow: () => void;
  readonly onRetry: () => void;
}

function sizes(change: FileChange): string {
  return [change.old_size, change.new_size]
    .filter((size) => size !== null)
    .map((size) => bytes(size))
    .join(" → ");
}

export function FileInstead({
  taskId,
  scope,
  change,
  what,
  state,
  onShow,
  onRetry,
}: FileInsteadProps) {
  const { t } = useTranslation();
  const show = <Button onClick={onShow}>{t("diff.show")}</Button>;
  switch (what) {
    case "picture":
      return <ImageDiff taskId={taskId} scope={scope} change={change} sizes={sizes(change)} />;
    case "generated":
      return (
        <EmptyState icon={<FileCode2 />} title={t("diff.generatedTitle")} actions={show}>
          {t("diff.generatedText")}
        </EmptyState>
      );
    case "failed":
      return state?.error ? (
        <ErrorState title={t("diff.fileFailed")} error={state.error} onRetry={onRetry} />
      ) : null;
    case "large": {
      const count = state?.loaded?.first.total_rows ?? 0;
      return (
        <EmptyState icon={<FileCode2 />} title={t("diff.largeTitle")} actions={show}>
          {t("diff.largeText", { count, rows: whole(count), size: sizes(change) })}
        </EmptyState>
      );
    }
    case "empty": {
      const modes = [change.old_mode, change.new_mode].filter(Boolean).join(" → ");
      return <EmptyState title={t("diff.noContent")}>{modes}</EmptyState>;
    }
    default:
      return (
        <div className={styles.loading} aria-busy>
          <SkeletonText lines={3} />
        </div>
      );
  }
}
