/** What the life of a worktree looks like, wherever it is shown. */
import type { WorkspaceStatus } from "#ui/api/generated.ts";
import type { Tone } from "#ui/components/Badge.tsx";

export const workspaceTones: Readonly<Record<WorkspaceStatus, Tone>> = {
  creating: "accent",
  active: "success",
  scheduled: "warning",
  cleaned: "neutral",
  error: "danger",
};
