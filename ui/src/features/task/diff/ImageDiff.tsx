/** A changed picture: before and after beside each other, or one over the other. */
import { useQuery } from "@tanstack/react-query";
import { FileDigit } from "lucide-react";
import { useState, type CSSProperties, type ReactNode } from "react";
import { useTranslation } from "react-i18next";
import { opQuery } from "#ui/api/client.ts";
import { ApiError } from "#ui/api/error.ts";
import type { DiffSide, FileChange, Scope } from "#ui/api/generated.ts";
import { bytes } from "#ui/domain/size.ts";
import { EmptyState } from "#ui/components/EmptyState.tsx";
import { ErrorState } from "#ui/components/ErrorState.tsx";
import { SegmentedControl } from "#ui/components/SegmentedControl.tsx";
import { Skeleton } from "#ui/components/Skeleton.tsx";
import { usePlatform } from "#ui/platform/PlatformContext.tsx";
import { whole } from "../numbers.ts";
import { addressOf, formatName, shares, sidesWith, toldPixels, type Pixels } from "./picture.ts";
import styles from "./ImageDiff.module.css";

/** Pictures are large: one that is no longer in sight is soon forgotten. */
const keptFor = 30_000;

const modes = ["beside", "swipe", "onion"] as const;
type Mode = (typeof modes)[number];

interface Drawn {
  readonly pixels: Pixels | null;
  readonly failed: boolean;
}

/** What became of an address once it was drawn; another address is another picture. */
function useDrawn(address: string | null) {
  const [known, setKnown] = useState<{ address: string; drawn: Drawn } | null>(null);
  const drawn = known !== null && known.address === address ? known.drawn : null;
  const put = (next: Drawn) => {
    if (address !== null) setKnown({ address, drawn: next });
  };
  return [drawn, put] as const;
}

function useSide(taskId: string, scope: Scope, change: FileChange, side: DiffSide) {
  const platform = usePlatform();
  const input = { task_id: taskId, scope, path: change.path, side };
  const enabled = sidesWith(change).includes(side);
  const blob = side === "old" ? change.old_blob : change.new_blob;
  const read = opQuery(platform, "task_diff_preview", input);
  // What git has a name for stays as it is, whatever else changes in the diff.
  const named = { queryKey: [...read.queryKey, blob], staleTime: Infinity, meta: { tags: [] } };
  const query = useQuery({ ...read, ...(blob ? named : {}), gcTime: keptFor, enabled });
  const preview = query.data ?? null;
  const address = preview && addressOf(preview);
  const [drawn, onDrawn] = useDrawn(address);
  return {
    side,
    there: enabled,
    preview,
    address,
    failed: drawn?.failed ?? false,
    pixels: drawn?.pixels ?? (preview && toldPixels(preview)),
    onDrawn,
    error: query.error ? ApiError.from(query.error) : null,
    retry: () => void query.refetch(),
  };
}
type Side = ReturnType<typeof useSide>;

/** Why there is nothing to draw, with the sizes; null when there is. */
function useWhyNot({ preview, failed }: Side): string | null {
  const { t } = useTranslation();
  if (!preview) return null;
  const size = bytes(preview.size ?? 0);
  switch (preview.kind) {
    case "image":
      return failed ? t("diff.picture.undrawable") : null;
    case "too_large":
      return t("diff.picture.tooLarge", { size, limit: bytes(preview.max_size) });
    case "too_many_pixels":
      return t("diff.picture.tooManyPixels");
    case "lfs_pointer":
      return t("diff.picture.lfs", { size });
    case "absent":
      return t("diff.picture.absent");
    case "other":
      return t("diff.picture.other");
  }
}

/** "240 × 120 pixels · 18.2 kB · PNG" */
function useFacts({ preview, pixels }: Side): string {
  const { t } = useTranslation();
  const facts: string[] = [];
  if (pixels && pixels.width > 0) {
    facts.push(
      t("diff.picture.pixels", { width: whole(pixels.width), height: whole(pixels.height) }),
    );
  }
  if (preview && preview.size !== null) facts.push(bytes(preview.size));
  if (preview?.media_type) facts.push(formatName(preview.media_type));
  return facts.join(" · ");
}

function Picture({ of, name, style }: { of: Side; name: string; style?: CSSProperties }) {
  const { address, preview, onDrawn } = of;
  if (address === null) return null;
  return (
    <img
      className={styles.picture}
      src={address}
      alt={name}
      style={style}
      // The room is known before the pixels are.
      {...(preview?.width && preview.height
        ? { width: preview.width, height: preview.height }
        : {})}
      decoding="async"
      draggable={false}
      onLoad={({ currentTarget: { naturalWidth: width, naturalHeight: height } }) =>
        onDrawn({ pixels: { width, height }, failed: false })
      }
      onError={() => onDrawn({ pixels: null, failed: true })}
    />
  );
}

function Beside({ of, name }: { of: Side; name: string }) {
  const { t } = useTranslation();
  const why = useWhyNot(of);
  const facts = useFacts(of);
  const body = (): ReactNode => {
    if (of.error) {
      return <ErrorState title={t("diff.picture.failed")} error={of.error} onRetry={of.retry} />;
    }
    if (!of.preview) return <Skeleton width="100%" height={120} />;
    if (why !== null) return <p className={styles.why}>{why}</p>;
    return (
      <div className={styles.board}>
        <Picture of={of} name={t(`diff.picture.alt.${of.side}`, { name })} />
      </div>
    );
  };
  return (
    <figure className={styles.side} data-side={of.side} aria-busy={!of.preview && !of.error}>
      <figcaption className={styles.caption}>
        <span className={styles.name}>{t(`diff.picture.side.${of.side}`)}</span>
        <span>{facts}</span>
      </figcaption>
      {body()}
    </figure>
  );
}

/** Both in one place: a line between them, or the new one shining through. */
function Over({ mode, old, now, name }: { mode: Mode; old: Side; now: Side; name: string }) {
  const { t } = useTranslation();
  const [share, setShare] = useState(50);
  const [oldWidth, newWidth] = shares(
    old.pixels ?? { width: 1, height: 1 },
    now.pixels ?? { width: 1, height: 1 },
  );
  const widest = Math.max(old.pixels?.width ?? 0, now.pixels?.width ?? 0);
  const through: CSSProperties =
    mode === "swipe" ? { clipPath: `inset(0 0 0 ${share}%)` } : { opacity: share / 100 };
  const [oldFacts, newFacts] = [useFacts(old), useFacts(now)];
  return (
    <div className={styles.over}>
      <label className={styles.slider}>
        <span>{t("diff.picture.side.old")}</span>
        <input
          type="range"
          min={0}
          max={100}
          value={share}
          aria-label={t(`diff.picture.slider.${mode === "swipe" ? "swipe" : "onion"}`)}
          onChange={(event) => setShare(Number(event.currentTarget.value))}
        />
        <span>{t("diff.picture.side.new")}</span>
      </label>
      <div
        className={styles.stack}
        style={{ "--widest": `${widest}px` } as CSSProperties}
        data-mode={mode}
      >
        <div className={styles.layer}>
          <Picture
            of={old}
            name={t("diff.picture.alt.old", { name })}
            style={{ width: `${oldWidth}%` }}
          />
        </div>
        <div className={styles.layer} style={through} data-new>
          <Picture
            of={now}
            name={t("diff.picture.alt.new", { name })}
            style={{ width: `${newWidth}%` }}
          />
        </div>
        {mode === "swipe" && (
          <span className={styles.line} style={{ insetInlineStart: `${share}%` }} aria-hidden />
        )}
      </div>
      <p className={styles.caption}>{`${oldFacts} → ${newFacts}`}</p>
    </div>
  );
}

export function ImageDiff({
  taskId,
  scope,
  change,
  sizes,
}: {
  taskId: string;
  scope: Scope;
  change: FileChange;
  /** What is told of a file that is no picture. */
  sizes: string;
}) {
  const { t } = useTranslation();
  const old = useSide(taskId, scope, change, "old");
  const now = useSide(taskId, scope, change, "new");
  const [mode, setMode] = useState<Mode>("beside");
  const sides = [old, now].filter(({ there }) => there);
  const name = change.path.slice(change.path.lastIndexOf("/") + 1);
  const answered = sides.every(({ preview, error }) => preview !== null || error !== null);
  const nothing = sides.every(
    ({ preview, error }) =>
      error === null && (preview?.kind === "other" || preview?.kind === "absent"),
  );
  if (answered && nothing) {
    return (
      <EmptyState icon={<FileDigit />} title={t("diff.binaryTitle")}>
        {sizes}
      </EmptyState>
    );
  }
  // Those that can be laid over each other.
  const both = sides.length === 2 && sides.every((side) => side.address !== null && !side.failed);
  const shown = both ? mode : "beside";
  return (
    <div
      className={styles.images}
      role="group"
      aria-label={t("diff.picture.label", { path: change.path })}
      // A scrolling region must be reachable by keyboard.
      // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
      tabIndex={0}
    >
      {both && (
        <SegmentedControl
          label={t("diff.picture.mode")}
          value={mode}
          segments={modes.map((value) => ({ value, label: t(`diff.picture.modes.${value}`) }))}
          onChange={setMode}
        />
      )}
      {shown === "beside" ? (
        <div className={styles.sides} data-count={sides.length}>
          {sides.map((side) => (
            <Beside key={side.side} of={side} name={name} />
          ))}
        </div>
      ) : (
        <Over mode={shown} old={old} now={now} name={name} />
      )}
    </div>
  );
}
