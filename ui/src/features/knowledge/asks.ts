/** Whether a project asks its agents for lessons: by an action of its workflow, or by a hook. Pure. */
import type { ProjectSettings, Workflow } from "#ui/api/generated.ts";

const plugin = "knowledge-capture";

export function asksForLessons(settings: ProjectSettings, workflow: Workflow): boolean {
  const byHook = (settings.lifecycle_hooks?.on_task_done ?? []).some(
    (hook) => hook.type === "plugin" && hook.name === plugin && hook.enabled !== false,
  );
  return (
    byHook ||
    workflow.states.some((state) =>
      (state.hooks?.on_enter ?? []).some(({ action }) => action === plugin),
    )
  );
}
