-- How often in a row the removal of a worktree failed.
ALTER TABLE workspaces ADD COLUMN tries INTEGER NOT NULL DEFAULT 0;
-- Space of the finished worktrees that wait for the next task, as last measured, and whether all worktrees of
-- the project together were over its cap then.
ALTER TABLE projects ADD COLUMN slots INTEGER NOT NULL DEFAULT 0;
ALTER TABLE projects ADD COLUMN slots_bytes INTEGER NOT NULL DEFAULT 0;
ALTER TABLE projects ADD COLUMN disk_over INTEGER NOT NULL DEFAULT 0;
