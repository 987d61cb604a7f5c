/** A file in conflict as the three sides have it, scrolled together. */
import { useEffect, useMemo, useRef, type RefObject, type UIEvent } from "react";
import { useTranslation } from "react-i18next";
import { useOp } from "#ui/api/client.ts";
import type { ConflictText } from "#ui/api/generated.ts";
import { bytes } from "#ui/domain/size.ts";
import { ErrorState } from "#ui/components/ErrorState.tsx";
import { SkeletonText } from "#ui/components/Skeleton.tsx";
import { VirtualList, type VirtualListHandle } from "#ui/components/VirtualList.tsx";
import { conflictLines, linesOf, type Place, type Side } from "./places.ts";
import styles from "./ThreeSides.module.css";

const order: readonly Side[] = ["base", "ours", "theirs"];
const rowHeight = 20;
/** Lines shown above the first one in conflict. */
const around = 3;

/** Why there are no lines to show; null when there are. */
function stateWord(text: ConflictText | null): "absent" | "binary" | "tooLarge" | "empty" | null {
  if (!text) return "absent";
  if (text.binary) return "binary";
  if (text.too_large) return "tooLarge";
  return text.text === "" ? "empty" : null;
}

function Column({
  side,
  name,
  text,
  places,
  handle,
}: {
  side: Side;
  name: string;
  text: ConflictText | null;
  places: readonly Place[];
  handle: RefObject<VirtualListHandle | null>;
}) {
  const { t } = useTranslation();
  const lines = useMemo(() => linesOf(text?.text ?? ""), [text]);
  const marked = useMemo(() => conflictLines(lines, places, side), [lines, places, side]);
  const longest = useMemo(
    () => lines.reduce((most, each) => Math.max(most, each.length), 0),
    [lines],
  );
  const first = Math.min(...marked);
  useEffect(() => {
    // Opens at what it is opened for.
    if (Number.isFinite(first)) handle.current?.scrollToIndex(Math.max(0, first - around), "start");
  }, [first, handle]);
  const word = stateWord(text);
  const size = text?.size;
  const width = { "--columns": longest } as React.CSSProperties;
  return (
    <section className={styles.column} aria-label={name} data-side={side} style={width}>
      <h4 className={styles.name}>
        {name}
        {typeof size === "number" && <span className={styles.size}>{bytes(size)}</span>}
      </h4>
      {word ? (
        <p className={styles.word}>{t(`conflict.side.${word}`)}</p>
      ) : (
        <VirtualList
          items={lines}
          keyOf={(_, index) => String(index)}
          rowHeight={rowHeight}
          overscan={12}
          label={t("conflict.sideLines", { name })}
          role="log"
          className={styles.lines ?? ""}
          handle={handle}
        >
          {(line, index) => (
            <div className={styles.line} data-marked={marked.has(index) || undefined}>
              <span className={styles.number}>{index + 1}</span>
              <span className={styles.text}>{line}</span>
            </div>
          )}
        </VirtualList>
      )}
    </section>
  );
}

export function ThreeSides({
  taskId,
  path,
  places,
  target,
}: {
  taskId: string;
  path: string;
  places: readonly Place[];
  target: string;
}) {
  const { t } = useTranslation();
  const file = useOp("task_conflict_file", { task_id: taskId, path });
  const base = useRef<VirtualListHandle>(null);
  const ours = useRef<VirtualListHandle>(null);
  const theirs = useRef<VirtualListHandle>(null);
  const handles = { base, ours, theirs };
  if (file.error) {
    return (
      <ErrorState
        title={t("conflict.fileFailed")}
        error={file.error}
        onRetry={() => void file.refetch()}
      />
    );
  }
  if (!file.data) {
    return (
      <div className={styles.loading} aria-busy>
        <SkeletonText lines={6} />
      </div>
    );
  }
  /** The others follow; each ends at its own end, so nobody is pulled back. */
  const follow = (event: UIEvent) => {
    for (const handle of [base, ours, theirs]) {
      const box = handle.current?.element;
      if (!box || box === event.target || !(event.target instanceof HTMLElement)) continue;
      const top = Math.min(event.target.scrollTop, box.scrollHeight - box.clientHeight);
      if (event.target.matches(":hover, :focus-within, :focus")) box.scrollTop = top;
    }
  };
  const longest = Math.max(...order.map((side) => linesOf(file.data[side]?.text ?? "").length));
  const rows = { "--rows": Math.max(3, longest) } as React.CSSProperties;
  const names = { base: t("conflict.base"), ours: target, theirs: t("conflict.theirs") };
  return (
    <div className={styles.sides} style={rows} onScrollCapture={follow}>
      {order.map((side) => (
        <Column
          key={side}
          side={side}
          name={names[side]}
          text={file.data[side]}
          places={places}
          handle={handles[side]}
        />
      ))}
    </div>
  );
}
