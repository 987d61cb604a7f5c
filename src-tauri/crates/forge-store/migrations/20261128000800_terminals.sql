-- Terminals: shells in a task's worktree that a person types to. What was typed and printed is not kept here.
CREATE TABLE terminals (
    id           TEXT PRIMARY KEY,
    task_id      TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    workspace_id TEXT NOT NULL,
    title        TEXT NOT NULL,
    columns      INTEGER NOT NULL, -- as it was opened
    rows         INTEGER NOT NULL,
    spawned      INTEGER NOT NULL DEFAULT 0, -- whether the keeper was given it
    opened_by    TEXT NOT NULL,
    opened_at    INTEGER NOT NULL,
    ended_at     INTEGER,
    exit_code    INTEGER,
    reason       TEXT
) STRICT;

CREATE INDEX terminals_task ON terminals (task_id, opened_at);
