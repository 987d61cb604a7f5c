import { Check, ChevronRight, Folder, MessageSquare, MessageSquareDot, Search } from "lucide-react";
import { useEffect, useMemo, useRef, useState } from "react";
import { useTranslation } from "react-i18next";
import type { FileChange } from "#ui/api/generated.ts";
import { DiffCount } from "#ui/components/DiffCount.tsx";
import { TextField } from "#ui/components/TextField.tsx";
import { VirtualList, type VirtualListHandle } from "#ui/components/VirtualList.tsx";
import { KindMark } from "./KindMark.tsx";
import type { Counts } from "./comments.ts";
import { matching, treeRows, type TreeRow } from "./tree.ts";
import { isViewed, useViewedMarks } from "./viewed.ts";
import layout from "#ui/components/layout.module.css";
import styles from "./FileTree.module.css";

export interface FileTreeProps {
  readonly taskId: string;
  readonly files: readonly FileChange[];
  readonly counts: ReadonlyMap<string, Counts>;
  readonly selected: string | null;
  readonly onSelect: (path: string) => void;
}

export function FileTree({ taskId, files, counts, selected, onSelect }: FileTreeProps) {
  const { t } = useTranslation();
  const marks = useViewedMarks(taskId);
  const [filter, setFilter] = useState("");
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set());
  const list = useRef<VirtualListHandle>(null);
  const rows = useMemo(
    () => treeRows(matching(files, filter), filter === "" ? closed : new Set()),
    [files, filter, closed],
  );
  const place = rows.findIndex(({ key }) => key === selected);
  useEffect(() => {
    if (place >= 0) list.current?.scrollToIndex(place);
  }, [place]);

  const toggle = (key: string) => {
    const next = new Set(closed);
    if (!next.delete(key)) next.add(key);
    setClosed(next);
  };

  const draw = (row: TreeRow) => {
    const indent = { paddingInlineStart: 8 + row.depth * 14 };
    if (row.type === "folder") {
      return (
        <button
          type="button"
          className={styles.row}
          style={indent}
          aria-expanded={!closed.has(row.key)}
          onClick={() => toggle(row.key)}
        >
          <ChevronRight className={styles.chevron} aria-hidden />
          <Folder aria-hidden />
          <span className={styles.name}>{row.name}</span>
        </button>
      );
    }
    const { change } = row;
    const viewed = isViewed(marks, change);
    const said = counts.get(change.path);
    return (
      <button
        type="button"
        className={styles.row}
        style={indent}
        aria-current={change.path === selected || undefined}
        data-viewed={viewed || undefined}
        title={change.path}
        onClick={() => onSelect(change.path)}
      >
        <KindMark kind={change.kind} />
        <span className={styles.name}>{row.name}</span>
        {said && said.open > 0 && (
          <span
            className={styles.comments}
            data-drafts={said.drafts > 0 || undefined}
            role="img"
            aria-label={
              said.drafts > 0
                ? t("comments.inFileDrafts", { count: said.open, drafts: said.drafts })
                : t("comments.inFile", { count: said.open })
            }
          >
            {said.drafts > 0 ? <MessageSquareDot aria-hidden /> : <MessageSquare aria-hidden />}
            {said.open}
          </span>
        )}
        {viewed && <Check className={styles.viewed} aria-label={t("diff.viewed")} />}
        {change.binary ? (
          <span className={layout.noteSmall}>{t("diff.binary")}</span>
        ) : (
          <DiffCount added={change.added} removed={change.removed} />
        )}
      </button>
    );
  };

  return (
    <div className={layout.frame}>
      <div className={styles.filter}>
        <TextField
          hideLabel
          label={t("diff.filter")}
          placeholder={t("diff.filter")}
          icon={<Search />}
          value={filter}
          onChange={setFilter}
        />
      </div>
      {rows.length === 0 ? (
        <p className={styles.none}>{t("list.noMatch")}</p>
      ) : (
        <VirtualList
          items={rows}
          keyOf={(row) => row.key}
          rowHeight={26}
          roomier={4}
          padding={4}
          label={t("diff.changedFiles")}
          handle={list}
        >
          {draw}
        </VirtualList>
      )}
    </div>
  );
}
