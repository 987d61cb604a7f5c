/**
 * What is dropped on the window from outside. The host tells where; a part of the page that takes files gets
 * what falls on it, everything else is offered as a project's folder.
 */
import { useEffect, useState, type RefObject } from "react";
import { usePlatform } from "#ui/platform/PlatformContext.tsx";
import type { FileDrop, Platform, Unsubscribe } from "#ui/platform/types.ts";
import { showToast } from "#ui/components/Toast.tsx";
import { engineHost } from "#ui/domain/engine/engine.ts";
import { t } from "#ui/i18n/index.ts";
import { showOverlay } from "#ui/store/overlays.ts";

interface Target {
  readonly element: RefObject<HTMLElement | null>;
  readonly take: (paths: readonly string[]) => void;
  readonly setOver: (over: boolean) => void;
}

const targets = new Set<Target>();

const lies = (element: HTMLElement | null, { x, y }: FileDrop): boolean => {
  const box = element?.getBoundingClientRect();
  return box !== undefined && x >= box.left && x < box.right && y >= box.top && y < box.bottom;
};

function tell(drop: FileDrop): void {
  const under = [...targets].find(({ element }) => lies(element.current, drop));
  for (const target of targets) target.setOver(drop.phase === "over" && target === under);
  if (drop.phase !== "drop" || drop.paths.length === 0) return;
  const host = engineHost();
  // Their paths mean nothing on another computer.
  if (host !== null) showToast({ tone: "danger", title: t("engine.files", { host }) });
  else if (under) under.take(drop.paths);
  else showOverlay("addProject", drop.paths[0]);
}

/** Follows what is dragged over the window; once for the whole of it. */
export const followFileDrops = (platform: Platform): Unsubscribe | undefined =>
  platform.onFileDrop?.(tell);

export function useFileDrops(): void {
  const platform = usePlatform();
  useEffect(() => followFileDrops(platform), [platform]);
}

/** Takes the files that are dropped on an element; answers whether some are held over it. */
export function useFileTarget(
  element: RefObject<HTMLElement | null>,
  take: (paths: readonly string[]) => void,
): boolean {
  const [over, setOver] = useState(false);
  useEffect(() => {
    const target = { element, take, setOver };
    targets.add(target);
    return () => {
      targets.delete(target);
    };
  }, [element, take]);
  return over;
}
