/**
 * The changes as one scroll: heads of files that stay at the upper edge, rows, and comments between
 * them. Only what is near is read and drawn. One file alone is the same list with one file in it.
 */
import {
  useEffect,
  useEffectEvent,
  useImperativeHandle,
  useMemo,
  useRef,
  useState,
  type KeyboardEvent,
  type Ref,
} from "react";
import { useTranslation } from "react-i18next";
import type { Comment, FileChange, Scope, Task } from "#ui/api/generated.ts";
import { VirtualList, type VirtualListHandle } from "#ui/components/VirtualList.tsx";
import { ChangeItem, type ItemContext } from "./ChangeItem.tsx";
import { pathOn, targetOf, type Sides } from "./comments.ts";
import { openComposer } from "./composer.ts";
import { at, lineFrom, lineToOpen, moved } from "./cursor.ts";
import { foundIn, type Goal } from "./goal.ts";
import { changeStarts, longLine } from "./hunks.ts";
import {
  fileAt,
  headHeight,
  heightOf,
  isMeasured,
  nearFiles,
  rowHeight,
  type Item,
} from "./items.ts";
import { changeFrom } from "./steps.ts";
import type { Mark } from "./tokens.ts";
import { useChangeItems, insteadOf, isRead, type Shown } from "./useChangeItems.ts";
import { useColours } from "./useColours.ts";
import type { DiffLoader, FileStates } from "./loader.ts";
import { useColumns } from "./useColumns.ts";
import { useLineCommands } from "./useLineCommands.ts";
import { usePointing } from "./usePointing.ts";
import type { ChangesHandle, DiffStyle, Pointed } from "./view.ts";
import { lineSaid } from "./words.ts";
import commentStyles from "./Comments.module.css";
import styles from "./Changes.module.css";

export interface ChangesProps {
  readonly task: Task;
  readonly scope: Scope;
  /** In the order in which they are shown. */
  readonly files: readonly FileChange[];
  /** The one that is shown alone. */
  readonly isOne: boolean;
  readonly loader: DiffLoader;
  readonly states: FileStates;
  readonly shown: Shown;
  readonly comments: readonly Comment[];
  readonly sides: Sides;
  readonly diffStyle: DiffStyle;
  readonly goal: Goal | null;
  readonly onGoal: () => void;
  /** The file that is being read. */
  readonly onCurrent: (path: string) => void;
  /** A change is stepped to that the shown files do not hold. */
  readonly onLeave: (path: string, step: 1 | -1) => void;
  readonly marksOf: (path: string, row: number) => readonly Mark[] | undefined;
  readonly head: ItemContext["head"];
  readonly onShow: (path: string) => void;
  readonly handle: Ref<ChangesHandle>;
}

const scrollKeys = new Set(["PageDown", "PageUp", "Home", "End", " "]);

type Refused = "noLine" | "notHere" | "chooseLine";

export function Changes(props: ChangesProps) {
  const { task, scope, files, isOne, loader, states, shown, comments, sides, diffStyle } = props;
  const { goal, onGoal, onCurrent, onLeave, handle } = props;
  const { t } = useTranslation();
  const list = useRef<VirtualListHandle>(null);
  const frame = useRef<HTMLDivElement>(null);
  const [near, setNear] = useState<readonly string[]>(() =>
    files.slice(0, 1).map(({ path }) => path),
  );
  // Nothing is drawn of it: whoever acts asks for it, and scrolling draws what comes into sight alone.
  const inSight = useRef({ first: 0, last: 0 });
  const [pointed, setPointed] = useState<Pointed | null>(null);
  const [refused, setRefused] = useState<Refused | null>(null);
  const [wanted, setWanted] = useState<string | null>(null);
  /** The file that was gone to, until the person scrolls: near the end it never reaches the upper edge. */
  const [aim, setAim] = useState<string | null>(null);
  const probe = useRef<HTMLSpanElement>(null);
  const perColumn = useColumns(frame, probe);
  const all = useChangeItems({
    taskId: task.id,
    files,
    states,
    comments,
    sides,
    diffStyle,
    shown,
    columns: perColumn,
    isOne,
  });
  const { items, starts, paths } = all;
  const changes = useMemo(() => new Map(files.map((change) => [change.path, change])), [files]);
  const canComment = sides.old || sides.new;

  const goalPath = goal?.path ?? null;
  useEffect(() => {
    const wantedPaths = goalPath === null ? near : [...near, goalPath];
    loader.keepNear(
      wantedPaths.filter((path) => {
        const change = changes.get(path);
        return change !== undefined && isRead(change, shown);
      }),
    );
  }, [loader, near, goalPath, changes, shown]);
  const colours = useColours(states, near);

  const look = (first: number, last: number) => {
    inSight.current = { first, last };
    const next = nearFiles(all, first, last);
    if (next.join("\n") !== near.join("\n")) setNear(next);
    for (let place = first; place <= last; place += 1) {
      const item = items[place];
      // Whose end alone is in sight is seen from below: all its pages would be read for that.
      const isEnd = place === first && last > first;
      if (item?.type === "more" && !isEnd) loader.more(item.path);
    }
    const path = aim !== null && changes.has(aim) ? aim : paths[fileAt(starts, first)];
    if (path) onCurrent(path);
  };

  const placeOf = (path: string, row: number | null): number => {
    const start = starts[paths.indexOf(path)] ?? 0;
    const own = all.of.get(path);
    return start + (row === null ? 0 : (own?.placeOf[row] ?? 0));
  };
  const rowsOf = (path: string) => states.get(path)?.loaded?.rows ?? [];

  const point = (next: Pointed | null) => {
    if (next) setAim(next.path);
    if (refused === "chooseLine") setRefused(null);
    setPointed(next);
  };
  const comment = ({ path, cursor }: Pointed) => {
    const change = changes.get(path);
    if (!change) return;
    const target = targetOf(rowsOf(path), cursor.anchor, cursor.row, sides, cursor.side);
    setRefused(target ? null : "notHere");
    setPointed({ path, cursor });
    if (target) openComposer(task.id, pathOn(change, target.side), target);
  };
  const focus = () => {
    if (pointed && pointed.cursor.row !== pointed.cursor.anchor) {
      setPointed({ ...pointed, cursor: at(pointed.cursor.row, pointed.cursor.side) });
    }
    list.current?.element?.focus({ preventScroll: true });
  };

  const toFile = (path: string) => {
    setAim(path);
    list.current?.scrollToStart(placeOf(path, null));
    onCurrent(path);
  };
  // Whoever leads to a row has put it where it is to stand.
  const led = useRef(false);
  const goTo = (path: string, row: number) => {
    led.current = true;
    setPointed({ path, cursor: at(row) });
    list.current?.scrollToIndex(placeOf(path, Math.max(0, row - 3)), "start");
  };
  /** The row that steps are taken from: that of the cursor, or the first in sight. */
  const here = (): { readonly path: string; readonly row: number | null } | null => {
    if (pointed && changes.has(pointed.path))
      return { path: pointed.path, row: pointed.cursor.row };
    const first = items[inSight.current.first];
    if (!first) return null;
    if (aim !== null && changes.has(aim)) return { path: aim, row: null };
    const top = first.type === "line" ? first.row : first.type === "pair" ? first.old : null;
    return { path: first.path, row: top === null ? null : top - 1 };
  };
  const stepChange = (step: 1 | -1) => {
    const from = here();
    if (!from) return;
    const row = changeFrom(rowsOf(from.path), from.row, step);
    const isShown = all.of.get(from.path)?.placeOf.length ?? 0;
    if (row !== null && isShown > 0 && !(from.row === null && step === -1)) {
      goTo(from.path, row);
      return;
    }
    setPointed(null);
    onLeave(from.path, step);
  };
  const lineOf = (path: string) =>
    lineToOpen(rowsOf(path), pointed?.path === path ? pointed.cursor : null);
  useImperativeHandle(handle, () => ({ toFile, stepChange, focus, lineOf }));

  const goalChange = goal ? changes.get(goal.path) : undefined;
  const found = useMemo(
    () =>
      goal && goalChange
        ? foundIn(goal, states.get(goal.path), insteadOf(goalChange, states.get(goal.path), shown))
        : null,
    [goal, goalChange, states, shown],
  );
  const goalMissing = goal !== null && found === null;
  const goalRows = goal ? rowsOf(goal.path).length : 0;
  useEffect(() => {
    // Asked once per page: a quick host answers before "fetching" was ever drawn.
    if (goalMissing && goalPath !== null && goalRows > 0) loader.more(goalPath);
  }, [goalMissing, goalPath, goalRows, loader]);
  const arrive = useEffectEvent(() => {
    if (!goal || !found) return;
    setRefused(found.exact ? null : "noLine");
    setWanted(goal.commentId);
    setAim(goal.path);
    onCurrent(goal.path);
    if (found.row === null) list.current?.scrollToStart(placeOf(goal.path, null));
    else list.current?.scrollToIndex(placeOf(goal.path, found.row), "center");
    if (found.exact && found.row !== null && goal.commentId === null) {
      if (!goal.keepsFocus) list.current?.element?.focus({ preventScroll: true });
      led.current = true;
      setPointed({ path: goal.path, cursor: at(found.row, goal.change ? null : goal.side) });
    }
    onGoal();
  });
  useEffect(() => {
    if (found) arrive();
  }, [found]);

  const follow = useEffectEvent(({ path, cursor }: Pointed) => {
    const wasLed = led.current;
    led.current = false;
    if (wasLed) return;
    if (all.of.get(path)?.placeOf[cursor.row] === undefined) return;
    list.current?.scrollToIndex(placeOf(path, cursor.row));
  });
  const row = pointed?.cursor.row;
  const pointedPath = pointed?.path;
  useEffect(() => {
    if (pointed && row !== undefined && pointedPath !== undefined) follow(pointed);
    // The range may grow without a step of its end.
    // oxlint-disable-next-line react-hooks/exhaustive-deps
  }, [row, pointedPath]);

  const walk = (step: 1 | -1, extend: boolean) => {
    if (!pointed) {
      const first = items
        .slice(inSight.current.first)
        .find((item) => item.type === "line" || item.type === "pair");
      const place = items.findIndex((item) => item === first);
      const path = first?.path;
      if (path === undefined) return;
      const shownRow = all.of
        .get(path)
        ?.placeOf.indexOf(place - (starts[paths.indexOf(path)] ?? 0));
      const start =
        inSight.current.first === 0 ? (changeStarts(rowsOf(path))[0]?.row ?? 0) : (shownRow ?? 0);
      const cursor = moved(rowsOf(path), null, step, extend, start);
      if (cursor) point({ path, cursor });
      return;
    }
    const rows = rowsOf(pointed.path);
    const next = moved(rows, pointed.cursor, step, extend, 0);
    if (!next) return;
    if (next.row !== pointed.cursor.row || extend) {
      point({ path: pointed.path, cursor: next });
      return;
    }
    // Past the end of a file comes the next one that shows rows.
    for (let file = paths.indexOf(pointed.path) + step; paths[file] !== undefined; file += step) {
      const path = paths[file] ?? "";
      const others = rowsOf(path);
      const isShown = (all.of.get(path)?.placeOf.length ?? 0) > 0;
      const over = isShown ? lineFrom(others, step === 1 ? 0 : others.length - 1, step) : null;
      if (over === null) continue;
      point({ path, cursor: at(over) });
      return;
    }
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (!(event.target instanceof Element)) return;
    if (event.target.closest("[data-thread], header, [role=group]")) return;
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (scrollKeys.has(event.key)) setAim(null);
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      walk(event.key === "ArrowDown" ? 1 : -1, event.shiftKey);
    } else if (event.key === "c" && canComment) {
      event.preventDefault();
      if (pointed) comment(pointed);
      else setRefused("chooseLine");
    } else if (event.key === "Escape" && pointed) {
      event.preventDefault();
      event.stopPropagation();
      setPointed(null);
    }
  };
  useLineCommands(pointed !== null && canComment ? () => comment(pointed) : undefined);
  const itemUnder = (element: Element | null): Item | undefined => {
    const index = element?.closest<HTMLElement>("[data-index]")?.dataset["index"];
    return index === undefined ? undefined : items[Number(index)];
  };
  const onPointerDown = usePointing({
    pointed,
    onPoint: point,
    onComment: canComment ? comment : undefined,
    pathUnder: (element) => itemUnder(element)?.path ?? null,
  });

  let columns = 0;
  for (const path of near) columns = Math.max(columns, states.get(path)?.loaded?.columns ?? 0);
  const [widest, setWidest] = useState(0);
  // Never narrower: what was scrolled to sideways stays where it is.
  if (columns > widest) setWidest(columns);
  const width = {
    "--columns": diffStyle === "split" ? 0 : Math.min(widest, longLine) + 2,
    "--per-column": perColumn ?? 80,
  } as React.CSSProperties;

  // A file that is folded from its end leaves its head in sight.
  const [jump, setJump] = useState<{ readonly path: string } | null>(null);
  const keepHead = (path: string) => {
    if (inSight.current.first > placeOf(path, null)) setJump({ path });
  };
  const toHead = useEffectEvent((path: string) => {
    list.current?.scrollToStart(placeOf(path, null));
  });
  useEffect(() => {
    if (jump) toHead(jump.path);
  }, [jump]);
  const head = (change: FileChange) => {
    const told = props.head(change);
    return {
      ...told,
      onFold: () => {
        told.onFold();
        keepHead(change.path);
      },
      onViewed: (viewed: boolean) => {
        told.onViewed(viewed);
        keepHead(change.path);
      },
    };
  };

  const context: ItemContext = {
    taskId: task.id,
    scope,
    changes,
    states,
    notes: all.notes,
    colours,
    pointed,
    canComment,
    marksOf: props.marksOf,
    head,
    loader,
    onShow: props.onShow,
    wanted,
    onFound: () => setWanted(null),
    onLeave: focus,
  };
  const alone = isOne ? files[0]?.path : undefined;
  const said = pointed ? rowsOf(pointed.path) : null;
  const drawn = (
    // The list in it is what takes the focus.
    <div
      ref={frame}
      className={styles.frame}
      style={width}
      data-selectable
      role="presentation"
      onKeyDown={onKeyDown}
      onPointerDown={(event) => {
        // The bar that scrolls is of the list itself.
        if (event.target === list.current?.element) setAim(null);
        onPointerDown(event);
      }}
      onWheel={() => setAim(null)}
      onTouchMove={() => setAim(null)}
    >
      <span ref={probe} className={styles.probe} aria-hidden>
        {"0".repeat(100)}
      </span>
      <VirtualList
        items={items}
        keyOf={(item) => item.key}
        rowHeight={rowHeight}
        heightOf={heightOf}
        measured={isMeasured}
        stickyAt={(first) => starts[fileAt(starts, first)]}
        scrollPadding={headHeight}
        keepInSight
        onShown={look}
        overscan={16}
        label={alone === undefined ? t("diff.changes") : t("diff.changesIn", { path: alone })}
        role="log"
        quiet
        className={styles.list ?? ""}
        handle={list}
      >
        {(item) => <ChangeItem item={item} context={context} />}
      </VirtualList>
    </div>
  );
  return (
    <section className={styles.changes} aria-label={alone ?? t("diff.allFiles")}>
      {refused && (
        <p className={commentStyles.notice} role="status">
          {t(`comments.${refused}`)}
        </p>
      )}
      <p className="visually-hidden" role="status">
        {pointed && said && lineSaid(said, pointed.cursor, t)}
      </p>
      {drawn}
    </section>
  );
}
