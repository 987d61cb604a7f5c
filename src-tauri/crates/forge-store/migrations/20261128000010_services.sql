-- Starts of services: commands that run in a task's worktree so that its work can be tried.
CREATE TABLE services (
    id           TEXT PRIMARY KEY,
    task_id      TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    name         TEXT NOT NULL,
    definition   TEXT NOT NULL, -- JSON, without the values of its variables
    state        TEXT NOT NULL, -- starting, ready, failed, stopped
    reason       TEXT,
    port         INTEGER NOT NULL,
    spawned      INTEGER NOT NULL DEFAULT 0, -- whether the keeper was given it
    started_by   TEXT NOT NULL,
    started_at   INTEGER NOT NULL,
    ready_at     INTEGER,
    ended_at     INTEGER,
    exit_code    INTEGER
) STRICT;

-- One of each name runs in a task at once.
CREATE UNIQUE INDEX services_active ON services (task_id, name) WHERE state IN ('starting', 'ready');
CREATE INDEX services_task ON services (task_id, name, started_at);
