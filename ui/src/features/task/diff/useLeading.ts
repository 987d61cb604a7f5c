/** Brings the row that somebody leads to, or that the keys have reached, into sight. */
import { useEffect, useEffectEvent } from "react";
import type { Commenting } from "./view.ts";

export interface Scrolling {
  showRow(row: number, align: "center" | "nearest"): void;
  toTop(): void;
}

export function useLeading(
  { arrival, onArrived, cursor }: Commenting,
  { showRow, toTop }: Scrolling,
): void {
  const arrive = useEffectEvent(() => {
    if (!arrival) return;
    if (arrival.row === null) toTop();
    else showRow(arrival.row, "center");
    onArrived();
  });
  useEffect(() => {
    if (arrival) arrive();
  }, [arrival]);
  const follow = useEffectEvent((row: number) => showRow(row, "nearest"));
  const row = cursor?.row;
  useEffect(() => {
    if (row !== undefined) follow(row);
  }, [row]);
}
