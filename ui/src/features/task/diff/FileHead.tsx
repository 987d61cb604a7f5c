/** The head of a changed file: its path, how much changed, and what can be done with it. */
import {
  ChevronDown,
  ChevronRight,
  MessageSquarePlus,
  SquareCode,
  UnfoldVertical,
} from "lucide-react";
import { useTranslation } from "react-i18next";
import type { FileChange } from "#ui/api/generated.ts";
import { Badge } from "#ui/components/Badge.tsx";
import { Checkbox } from "#ui/components/Checkbox.tsx";
import { CopyButton } from "#ui/components/CopyButton.tsx";
import { DiffCount } from "#ui/components/DiffCount.tsx";
import { IconButton } from "#ui/components/IconButton.tsx";
import { SegmentedControl } from "#ui/components/SegmentedControl.tsx";
import { KindMark } from "./KindMark.tsx";
import { isDrawable } from "./picture.ts";
import styles from "./FileHead.module.css";

export interface FileHeadProps {
  readonly change: FileChange;
  readonly viewed: boolean;
  readonly onViewed: (viewed: boolean) => void;
  /** It changed since the person looked last. */
  readonly isNew: boolean;
  /** Undefined where one file is shown alone. */
  readonly folded: boolean | undefined;
  readonly onFold: () => void;
  readonly picture: boolean;
  readonly onPicture: (picture: boolean) => void;
  /** Undefined when these changes take no comments on a file. */
  readonly onComment: (() => void) | undefined;
  /** Undefined when the file is not on this computer. */
  readonly onEditor: (() => void) | undefined;
  /** Undefined when nothing of the file is hidden. */
  readonly onWhole: (() => void) | undefined;
}

export function FileHead({
  change,
  viewed,
  onViewed,
  isNew,
  folded,
  onFold,
  picture,
  onPicture,
  onComment,
  onEditor,
  onWhole,
}: FileHeadProps) {
  const { t } = useTranslation();
  const { path, old_path: old } = change;
  const folder = path.slice(0, path.lastIndexOf("/") + 1);
  return (
    <header className={styles.head} data-head={path}>
      {folded !== undefined && (
        <IconButton
          label={t(folded ? "diff.unfold" : "diff.fold", { path })}
          icon={folded ? <ChevronRight /> : <ChevronDown />}
          size="sm"
          aria-expanded={!folded}
          onClick={onFold}
        />
      )}
      <KindMark kind={change.kind} />
      <h3 className={styles.path} title={path}>
        {old && old !== path && <span className={styles.folder}>{`${old} → `}</span>}
        <span className={styles.folder}>{folder}</span>
        {path.slice(folder.length)}
      </h3>
      <CopyButton text={path} label={t("diff.copyPath")} />
      {change.untracked && <Badge look="outline">{t("diff.untracked")}</Badge>}
      {isNew && <Badge tone="accent">{t("diff.sinceLook.mark")}</Badge>}
      {!change.binary && <DiffCount added={change.added} removed={change.removed} />}
      <span className={styles.fill} />
      {isDrawable(change) && !folded && (
        <SegmentedControl
          label={t("diff.picture.shownAs")}
          value={picture ? "picture" : "lines"}
          segments={[
            { value: "lines", label: t("diff.picture.asLines") },
            { value: "picture", label: t("diff.picture.asPicture") },
          ]}
          onChange={(as) => onPicture(as === "picture")}
        />
      )}
      {onComment && (
        <IconButton
          label={t("comments.addToFile")}
          icon={<MessageSquarePlus />}
          size="sm"
          onClick={onComment}
        />
      )}
      {onEditor && (
        <IconButton
          label={t("diff.openFile")}
          icon={<SquareCode />}
          size="sm"
          className={styles.wide}
          onClick={onEditor}
        />
      )}
      {onWhole && (
        <IconButton
          label={t("diff.context.whole")}
          icon={<UnfoldVertical />}
          size="sm"
          className={styles.wide}
          onClick={onWhole}
        />
      )}
      <Checkbox label={t("diff.viewed")} checked={viewed} onChange={onViewed} />
    </header>
  );
}
