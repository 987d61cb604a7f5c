/** Pictures among the changes: which sides there are to ask for, and what is said of each. Pure. */
import type { DiffSide, FileChange, FilePreview } from "#ui/api/generated.ts";

/** Text that a page can draw as well. */
export const isDrawable = ({ path, binary, new_mode, old_mode }: FileChange): boolean =>
  !binary && /\.svg$/i.test(path) && (new_mode ?? old_mode)?.startsWith("100") === true;

/** The sides that the file is on, the older one first. */
export function sidesWith({ kind }: Pick<FileChange, "kind">): readonly DiffSide[] {
  if (kind === "added") return ["new"];
  return kind === "deleted" ? ["old"] : ["old", "new"];
}

/**
 * The address of a picture. Always for an `<img>`, which runs no script of an SVG; `data:` and not
 * `blob:`, so that the address is nobody's origin wherever else it is opened.
 */
export function addressOf({ kind, media_type: type, data }: FilePreview): string | null {
  if (kind !== "image" || data === null || !type?.startsWith("image/")) return null;
  return `data:${type};base64,${data}`;
}

const names: Readonly<Record<string, string>> = {
  "image/png": "PNG",
  "image/jpeg": "JPEG",
  "image/gif": "GIF",
  "image/webp": "WebP",
  "image/avif": "AVIF",
  "image/bmp": "BMP",
  "image/x-icon": "ICO",
  "image/svg+xml": "SVG",
};

/** "PNG"; a type that has no name here is said as it is. */
export const formatName = (type: string): string => names[type] ?? type;

export interface Pixels {
  readonly width: number;
  readonly height: number;
}

/** What the file's head says; null where it does not. */
export function toldPixels({ width, height }: FilePreview): Pixels | null {
  return width === null || height === null ? null : { width, height };
}

/** Widths in one picture over the other, in percent of the wider one. */
export function shares(old: Pixels, now: Pixels): readonly [number, number] {
  const widest = Math.max(old.width, now.width, 1);
  return [(old.width / widest) * 100, (now.width / widest) * 100];
}
