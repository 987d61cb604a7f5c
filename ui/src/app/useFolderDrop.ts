import { useEffect } from "react";
import { usePlatform } from "#ui/platform/PlatformContext.tsx";
import { showOverlay } from "#ui/store/overlays.ts";

/** A folder dropped on the window is offered as a project. */
export function useFolderDrop(): void {
  const platform = usePlatform();
  useEffect(
    () => platform.onFolderDrop?.((folder) => showOverlay("addProject", folder)),
    [platform],
  );
}
