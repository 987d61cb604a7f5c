/** Every page of the window and every tab of its tasks, with the sample that shows most of it. */
export interface PageScene {
  readonly name: string;
  readonly sample: string | null;
  readonly hash: string;
}

const scene = (name: string, sample: string | null, hash: string): PageScene => ({
  name,
  sample,
  hash,
});

export const pageScenes: readonly PageScene[] = [
  scene("board", null, "#/board/p1"),
  scene("board with a task", null, "#/board/p1?task=1"),
  scene("board of troubles", "troubles", "#/board/p1"),
  scene("new project", "new", "#/board/p1"),
  scene("nothing at all", "empty", "#/"),
  scene("nothing can be read", "broken", "#/board/p1"),
  scene("attention", null, "#/attention"),
  scene("attention to troubles", "troubles", "#/attention"),
  scene("runs", "agents", "#/runs"),
  scene("agents", "agents", "#/agents"),
  scene("scoreboard", "agents", "#/agents?view=scoreboard"),
  scene("workspaces", null, "#/workspaces"),
  scene("costs", "costs-few", "#/costs"),
  scene("costs of a project", "costs-few", "#/costs?of=p1"),
  scene("machines", "machines", "#/machines"),
  scene("inner loop", "races", "#/inner-loop/p1"),
  scene("settings", null, "#/settings"),
  scene("settings of a closed program", "shut", "#/settings"),
  scene("settings on a full disk", "full", "#/settings"),
  ...[
    "general",
    "setup",
    "services",
    "costs",
    "knowledge",
    "notifications",
    "workflow",
    "hooks",
    "automation",
    "innerLoop",
    "checks",
    "merge",
    "pullRequests",
    "issues",
  ].map((tab) => scene(`project: ${tab}`, null, `#/settings/project/p1?tab=${tab}`)),
  scene("board of issues", "issues", "#/board/p1"),
  scene("task of an issue", "issues", "#/task/p1/2"),
  scene("task of an issue that was not written", "issues", "#/task/p1/8"),
  scene("conversation", "agents", "#/task/p1/1"),
  scene("diff", "diff", "#/task/p1/1?tab=diff"),
  scene("conflict", "diff", "#/task/p1/2?tab=review"),
  scene("review", "review", "#/task/p1/1?tab=review"),
  scene("race", "races", "#/task/p1/1?tab=race"),
  scene("debrief", "races", "#/task/p1/4?tab=debrief"),
  scene("fixes", "fixes", "#/task/p1/1?tab=fixes"),
  scene("validation", "validate", "#/task/p1/1?tab=validate"),
  scene("services of a task", null, "#/task/p1/1?tab=services"),
  scene("terminals of a task", null, "#/task/p1/1?tab=terminal"),
  scene("extreme titles on the board", "extremes", "#/board/p1"),
  scene("an extreme title beside the board", "extremes", "#/board/p1?task=3"),
  scene("extreme titles that need attention", "extremes", "#/attention"),
  scene("an extreme title on its page", "extremes", "#/task/p1/5"),
  scene("timeline", null, "#/task/p1/1?tab=timeline"),
  scene("workspace of a task", null, "#/task/p1/1?tab=workspace"),
];
