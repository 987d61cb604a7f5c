-- What stays behind when a task is merged or closed, and what a review is about besides its commit.
ALTER TABLE tasks ADD COLUMN unmerged_commits INTEGER NOT NULL DEFAULT 0; -- of the task's branch, as last counted
ALTER TABLE tasks ADD COLUMN closed_unmerged INTEGER NOT NULL DEFAULT 0;  -- a person closed it without a merge
ALTER TABLE tasks ADD COLUMN work_changed TEXT;                           -- JSON: how the work differs from the reviewed commit

ALTER TABLE reviews ADD COLUMN reuses_passes INTEGER NOT NULL DEFAULT 0;  -- passes on the same tree count
ALTER TABLE reviews ADD COLUMN check_files TEXT NOT NULL DEFAULT '[]';    -- JSON list: untracked files that the checks made
