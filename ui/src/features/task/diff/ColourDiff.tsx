/**
 * A diff in colours, unified or side by side, highlighted off the main thread. The only file that
 * imports the viewer; a chunk of its own. Comments are the viewer's annotations: it is told where
 * they stand, and each reads its own text, so that no comment redraws the rows.
 */
import { processFile, registerCustomTheme, resolveTheme } from "@pierre/diffs";
import {
  CodeView,
  WorkerPoolContextProvider,
  type CodeViewHandle,
  type CodeViewItem,
} from "@pierre/diffs/react";
import DiffWorker from "@pierre/diffs/worker/worker-portable.js?worker";
import {
  useEffect,
  useEffectEvent,
  useImperativeHandle,
  useMemo,
  useRef,
  useState,
  type KeyboardEvent,
  type PointerEvent,
  type Ref,
} from "react";
import { useTranslation } from "react-i18next";
import type { FileChange, Hunk } from "#ui/api/generated.ts";
import { usePreference } from "#ui/store/preferences.ts";
import type { RowIndex } from "./comments.ts";
import { at, cursorOf, sidedLine, type Cursor, type SidedLine } from "./cursor.ts";
import { patchOf, type DiffRow } from "./hunks.ts";
import { Thread } from "./Thread.tsx";
import { useLeading } from "./useLeading.ts";
import { useNamedButton } from "./useNamedButton.ts";
import type { Commenting, DiffStyle, DiffViewHandle } from "./view.ts";
import styles from "./ColourDiff.module.css";

export interface ColourDiffProps {
  readonly change: FileChange;
  readonly hunks: readonly Hunk[];
  readonly rows: readonly DiffRow[];
  readonly index: RowIndex;
  readonly diffStyle: DiffStyle;
  readonly label: string;
  readonly commenting: Commenting;
  readonly handle: Ref<DiffViewHandle>;
}

interface Noted {
  readonly key: string;
}

interface Range {
  readonly start: number;
  readonly end: number;
  readonly side?: "additions" | "deletions" | undefined;
  readonly endSide?: "additions" | "deletions" | undefined;
}

/**
 * The viewer's themes are made for a ground without colour: on an added or a removed line their
 * comments are too faint to be read.
 */
function withReadableComments(name: string, from: "pierre-dark" | "pierre-light", color: string) {
  const load = async () => {
    const base = await resolveTheme(from, backend);
    if (!base.zed) return { ...base, name };
    const { style } = base.zed;
    const syntax = { ...style.syntax, comment: { color }, "comment.doc": { color } };
    return { ...base, name, zed: { ...base.zed, name, style: { ...style, syntax } } };
  };
  registerCustomTheme(name, load, "diffs");
  return name;
}

const backend = "highlights";
const theme = {
  dark: withReadableComments("forge-dark", "pierre-dark", "#a8a8a8"),
  light: withReadableComments("forge-light", "pierre-light", "#5c5c5c"),
};
const poolOptions = { workerFactory: () => new DiffWorker(), poolSize: 2 };
const highlighterOptions = { theme, preferredHighlighter: backend } as const;
const itemId = "file";
/**
 * The ground is ours, so that the diff does not stand out of the panel as a box; and the numbers of
 * changed lines are made readable on theirs.
 */
const ground = `:host {
  --diffs-fg-number-addition-override: color-mix(in lab, var(--diffs-addition-base) 70%, var(--diffs-fg));
  --diffs-fg-number-deletion-override: color-mix(in lab, var(--diffs-deletion-base) 70%, var(--diffs-fg));
  --diffs-light-bg: var(--surface-raised) !important;
  --diffs-dark-bg: var(--surface-raised) !important;
}`;

/** Changes with the content, so that what was highlighted once is not highlighted again. */
function contentKey(patch: string): string {
  let hash = 5_381;
  for (let place = 0; place < patch.length; place += 1)
    hash = (hash * 33 + patch.charCodeAt(place)) | 0;
  return `${hash}:${patch.length}`;
}

const startOf = ({ start, side }: Range): SidedLine => ({ line: start, side: side ?? "additions" });
const endOf = ({ end, side, endSide }: Range): SidedLine => ({
  line: end,
  side: endSide ?? side ?? "additions",
});

/** What the viewer marks for a cursor. */
function selectionOf(rows: readonly DiffRow[], cursor: Cursor | null) {
  const start = cursor && sidedLine(rows[cursor.anchor], cursor.side);
  const end = cursor && sidedLine(rows[cursor.row], cursor.side);
  if (!start || !end) return null;
  const range = { start: start.line, side: start.side, end: end.line, endSide: end.side };
  return { id: itemId, range };
}

/** The file and where comments stand; only the latter changes when one is made. */
function useItems(change: FileChange, hunks: readonly Hunk[], anchors: Commenting["anchors"]) {
  const fileDiff = useMemo(() => {
    const patch = patchOf(change, hunks);
    return processFile(patch, { isGitDiff: true, cacheKey: contentKey(patch) });
  }, [change, hunks]);
  const [known, setKnown] = useState({ fileDiff, anchors, version: 1 });
  // The viewer takes a changed item only under another version.
  const isNew = known.fileDiff !== fileDiff || known.anchors !== anchors;
  const version = isNew ? known.version + 1 : known.version;
  if (isNew) setKnown({ fileDiff, anchors, version });
  return useMemo((): CodeViewItem<Noted>[] => {
    if (!fileDiff) return [];
    const annotations = anchors.map(({ key, side, line }) => ({
      side,
      lineNumber: line,
      metadata: { key },
    }));
    return [{ id: itemId, type: "diff", fileDiff, annotations, version }];
  }, [fileDiff, anchors, version]);
}

/** `onPress` is told a range each time anew: the same button may be pressed twice. */
function useOptions(diffStyle: DiffStyle, canComment: boolean, onPress: (range: Range) => void) {
  const themeType = usePreference("theme");
  return useMemo(
    () =>
      ({
        theme,
        themeType,
        preferredHighlighter: backend,
        diffStyle,
        disableFileHeader: true,
        diffIndicators: "bars",
        hunkSeparators: "metadata",
        lineDiffType: "word-alt",
        overflow: "scroll",
        tokenizeMaxLength: 800_000,
        unsafeCSS: ground,
        enableLineSelection: true,
        lineHoverHighlight: "number",
        enableGutterUtility: canComment,
        ...(canComment ? { onGutterUtilityClick: (range: Range) => onPress({ ...range }) } : {}),
        layout: { paddingTop: 0, paddingBottom: 0, gap: 0 },
      }) as const,
    [themeType, diffStyle, canComment, onPress],
  );
}

/**
 * The cursor as the viewer's selection. The viewer puts the button of a selection before that of
 * the line under the pointer, so a single line that the pointer did not choose makes way as soon as
 * the pointer moves.
 */
function useSelection(rows: readonly DiffRow[], index: RowIndex, commenting: Commenting) {
  const { cursor, onCursor, onKeyDown } = commenting;
  const [pointed, setPointed] = useState<Cursor | null>(null);
  const [passed, setPassed] = useState<Cursor | null>(null);
  const pointer = useRef<{ readonly x: number; readonly y: number } | null>(null);
  const single = cursor !== null && cursor.row === cursor.anchor;
  const gone = single && cursor === passed && cursor !== pointed;
  const selectedLines = useMemo(
    () => selectionOf(rows, gone ? null : cursor),
    [rows, cursor, gone],
  );
  return {
    selectedLines,
    onSelectedLinesChange: (next: { readonly range: Range } | null) => {
      const chosen = next && cursorOf(index, startOf(next.range), endOf(next.range));
      setPointed(chosen);
      onCursor(chosen);
    },
    onKeyDown: (event: KeyboardEvent) => {
      setPassed(null);
      onKeyDown(event);
    },
    onPointerMove: ({ screenX: x, screenY: y }: PointerEvent) => {
      // Rows that scroll under a pointer at rest are no move of it.
      const before = pointer.current;
      pointer.current = { x, y };
      if (before && (before.x !== x || before.y !== y)) setPassed(cursor);
    },
  };
}

export default function ColourDiff({
  change,
  hunks,
  rows,
  index,
  diffStyle,
  label,
  commenting,
  handle,
}: ColourDiffProps) {
  const viewer = useRef<CodeViewHandle<Noted, undefined>>(null);
  const frame = useRef<HTMLElement>(null);
  const { t } = useTranslation();
  useNamedButton(frame, t("comments.addToLine"));
  const { anchors, top, cursor, onCursor, onComment } = commenting;
  const items = useItems(change, hunks, anchors);
  const showRow = (row: number, align: "start" | "center" | "nearest") => {
    const target = sidedLine(rows[row], null);
    if (!target) return;
    const { line: lineNumber, side } = target;
    const offset = align === "start" ? 60 : 0;
    viewer.current?.scrollTo({ type: "line", id: itemId, lineNumber, side, align, offset });
  };
  const toTop = () => viewer.current?.scrollTo({ type: "position", position: 0 });
  useLeading(commenting, { showRow, toTop });
  useImperativeHandle(handle, () => ({
    goTo: ({ row }) => {
      onCursor(at(row));
      showRow(row, "start");
    },
    focus: () => {
      if (cursor && cursor.row !== cursor.anchor) onCursor(at(cursor.row, cursor.side));
      frame.current?.focus({ preventScroll: true });
    },
  }));
  // The viewer keeps the options it was given: what they call must be today's.
  const [pressed, setPressed] = useState<Range | null>(null);
  const press = useEffectEvent((range: Range) => {
    const chosen = cursorOf(index, startOf(range), endOf(range));
    if (chosen) onComment?.(chosen);
  });
  useEffect(() => {
    if (pressed) press(pressed);
  }, [pressed]);
  const options = useOptions(diffStyle, onComment !== undefined, setPressed);
  const { selectedLines, onSelectedLinesChange, ...listeners } = useSelection(
    rows,
    index,
    commenting,
  );
  return (
    <WorkerPoolContextProvider poolOptions={poolOptions} highlighterOptions={highlighterOptions}>
      {/* Arrows walk the lines in it. */}
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions */}
      <section
        ref={frame}
        className={styles.frame}
        aria-label={label}
        data-selectable
        // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
        tabIndex={0}
        {...listeners}
      >
        <CodeView<Noted>
          ref={viewer}
          items={items}
          options={options}
          className={styles.view ?? ""}
          selectedLines={selectedLines}
          onSelectedLinesChange={onSelectedLinesChange}
          renderAnnotation={(...[{ metadata }]) => <Thread at={metadata.key} />}
          {...(top ? { renderCodeViewHeader: () => top } : {})}
        />
      </section>
    </WorkerPoolContextProvider>
  );
}
