/** Whether a project asks its agents for lessons: by its inner loop, an action of its workflow, or a hook. Pure. */
import type { ProjectSettings, Workflow } from "#ui/api/generated.ts";

const plugin = "knowledge-capture";

export function asksForLessons(settings: ProjectSettings, workflow: Workflow): boolean {
  const byLoop = settings.innerLoop?.knowledge?.enabled === true;
  const byHook = (settings.lifecycle_hooks?.on_task_done ?? []).some(
    (hook) => hook.type === "plugin" && hook.name === plugin && hook.enabled !== false,
  );
  return (
    byLoop ||
    byHook ||
    workflow.states.some((state) =>
      (state.hooks?.on_enter ?? []).some(({ action }) => action === plugin),
    )
  );
}
