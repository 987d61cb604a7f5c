/**
 * Colours of a diff's lines, made in workers. The only file that imports the highlighter; a chunk of
 * its own.
 */
import { processFile, registerCustomTheme, resolveTheme } from "@pierre/diffs";
import { getOrCreateWorkerPoolSingleton } from "@pierre/diffs/worker";
import DiffWorker from "@pierre/diffs/worker/worker-portable.js?worker";
import type { FileChange, Hunk } from "#ui/api/generated.ts";
import { patchOf } from "./hunks.ts";
import { flattened, type Colours, type Node, type Tokens } from "./tokens.ts";

const backend = "highlights";

/**
 * The highlighter's themes are made for a ground without colour: on an added or a removed line their
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

const theme = {
  dark: withReadableComments("forge-dark", "pierre-dark", "#a8a8a8"),
  light: withReadableComments("forge-light", "pierre-light", "#5c5c5c"),
};

const pool = () =>
  getOrCreateWorkerPoolSingleton({
    poolOptions: { workerFactory: () => new DiffWorker(), poolSize: 2 },
    highlighterOptions: { theme, preferredHighlighter: backend, lineDiffType: "word-alt" },
  });

/** Changes with the content, so that what was coloured once is not coloured again. */
function contentKey(patch: string): string {
  let hash = 5_381;
  for (let place = 0; place < patch.length; place += 1)
    hash = (hash * 33 + patch.charCodeAt(place)) | 0;
  return `${hash}:${patch.length}`;
}

/** Null when the language is unknown or nothing came of it. */
export async function coloursOf(
  change: FileChange,
  hunks: readonly Hunk[],
): Promise<Colours | null> {
  const patch = patchOf(change, hunks);
  const diff = processFile(patch, { isGitDiff: true, cacheKey: contentKey(patch) });
  if (!diff) return null;
  await pool().primeDiffHighlightCache(diff);
  const code = pool().getDiffResultCache(diff)?.result.code;
  if (!code) return null;
  const colours = { old: new Map<number, Tokens>(), new: new Map<number, Tokens>() };
  let removed = 0;
  let added = 0;
  for (const { lines } of hunks) {
    for (const { kind, old_no: oldNo, new_no: newNo } of lines) {
      if (kind !== "added") {
        const node = code.deletionLines[removed];
        if (node && oldNo !== null) colours.old.set(oldNo, flattened(node as Node));
        removed += 1;
      }
      if (kind !== "removed") {
        const node = code.additionLines[added];
        if (node && newNo !== null) colours.new.set(newNo, flattened(node as Node));
        added += 1;
      }
    }
  }
  return colours;
}
