/** How a graph is shown at first: all of it. Pure. */
export interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

export interface View {
  readonly x: number;
  readonly y: number;
  readonly zoom: number;
}

/** Beside the buttons for the zoom, which stand in the lower left corner. */
export const padding = { top: 16, right: 16, bottom: 16, left: 56 } as const;
/** Smaller text cannot be read; it is said that the graph is only an overview then. */
export const readable = 0.35;
/** As far as a graph of a hundred states needs. */
export const smallest = 0.05;

/** The view in which the whole box is in the middle of a frame, no larger than it is. */
export function startView(box: Box, frame: Pick<Box, "width" | "height">): View {
  const width = Math.max(1, frame.width - padding.left - padding.right);
  const height = Math.max(1, frame.height - padding.top - padding.bottom);
  const fits = Math.min(width / Math.max(1, box.width), height / Math.max(1, box.height));
  const zoom = Math.max(smallest, Math.min(1, fits));
  return {
    x: padding.left + (width - box.width * zoom) / 2 - box.x * zoom,
    y: padding.top + (height - box.height * zoom) / 2 - box.y * zoom,
    zoom,
  };
}
