/**
 * A diff in colours, unified or side by side, highlighted off the main thread. The only file that
 * imports the viewer; a chunk of its own.
 */
import { processFile, registerCustomTheme, resolveTheme } from "@pierre/diffs";
import {
  CodeView,
  WorkerPoolContextProvider,
  type CodeViewHandle,
  type CodeViewItem,
} from "@pierre/diffs/react";
import DiffWorker from "@pierre/diffs/worker/worker-portable.js?worker";
import { useImperativeHandle, useMemo, useRef, type Ref } from "react";
import type { FileChange, Hunk } from "#ui/api/generated.ts";
import { usePreference } from "#ui/store/preferences.ts";
import { patchOf } from "./hunks.ts";
import type { DiffStyle, DiffViewHandle } from "./view.ts";
import styles from "./ColourDiff.module.css";

export interface ColourDiffProps {
  readonly change: FileChange;
  readonly hunks: readonly Hunk[];
  readonly diffStyle: DiffStyle;
  readonly label: string;
  readonly handle: Ref<DiffViewHandle>;
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
/** The ground is ours, so that the diff does not stand out of the panel as a box. */
const ground = `:host {
  --diffs-light-bg: var(--surface-raised) !important;
  --diffs-dark-bg: var(--surface-raised) !important;
}`;

/** Changes with the content, so that what was highlighted once is not highlighted again. */
function contentKey(patch: string): string {
  let hash = 5_381;
  for (let at = 0; at < patch.length; at += 1) hash = (hash * 33 + patch.charCodeAt(at)) | 0;
  return `${hash}:${patch.length}`;
}

export default function ColourDiff({ change, hunks, diffStyle, label, handle }: ColourDiffProps) {
  const themeType = usePreference("theme");
  const viewer = useRef<CodeViewHandle<undefined, undefined>>(null);
  const items = useMemo((): CodeViewItem<undefined>[] => {
    const patch = patchOf(change, hunks);
    const cacheKey = contentKey(patch);
    const fileDiff = processFile(patch, { isGitDiff: true, cacheKey });
    return fileDiff ? [{ id: itemId, type: "diff", fileDiff, version: 1 }] : [];
  }, [change, hunks]);
  useImperativeHandle(handle, () => ({
    goTo: ({ side, line }) =>
      viewer.current?.scrollTo({
        type: "line",
        id: itemId,
        lineNumber: line,
        side,
        align: "start",
        offset: 60,
      }),
  }));
  const options = useMemo(
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
        layout: { paddingTop: 0, paddingBottom: 0, gap: 0 },
      }) as const,
    [themeType, diffStyle],
  );
  return (
    <WorkerPoolContextProvider poolOptions={poolOptions} highlighterOptions={highlighterOptions}>
      <section className={styles.frame} aria-label={label} data-selectable>
        <CodeView ref={viewer} items={items} options={options} className={styles.view ?? ""} />
      </section>
    </WorkerPoolContextProvider>
  );
}
