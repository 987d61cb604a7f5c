/** The projects, and the one in view: the address's, else the last one seen, else the first. */
import { useEffect } from "react";
import { useOp } from "#ui/api/client.ts";
import type { Project } from "#ui/api/generated.ts";
import { setPreference, usePreference } from "#ui/store/preferences.ts";
import { useRoute } from "./router.ts";

export function useProjects(): readonly Project[] {
  return useOp("project_list", {}).data?.items ?? none;
}

const none: readonly Project[] = [];

export function useCurrentProject(projects: readonly { readonly id: string }[]): string | null {
  const route = useRoute();
  const last = usePreference("lastProject");
  const inRoute = route.name !== null && "project" in route.params ? route.params.project : null;
  useEffect(() => {
    if (inRoute !== null) setPreference("lastProject", inRoute);
  }, [inRoute]);
  return inRoute ?? projects.find(({ id }) => id === last)?.id ?? projects[0]?.id ?? null;
}
