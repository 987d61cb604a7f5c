-- The machine that a place was given on, so that the worktree is made there and nowhere else; null for this computer.
ALTER TABLE slots ADD COLUMN machine_id TEXT;
UPDATE slots SET machine_id = (
    SELECT w.machine_id FROM workspaces w WHERE w.task_id = slots.task_id AND w.status <> 'cleaned'
    ORDER BY w.created_at DESC, w.rowid DESC LIMIT 1
);
CREATE INDEX slots_machine ON slots (machine_id) WHERE machine_id IS NOT NULL;

-- What may run on a machine on one day.
ALTER TABLE machines ADD COLUMN quota TEXT NOT NULL DEFAULT '{}'; -- JSON
CREATE INDEX executions_machine_day ON executions (machine_id, started_at) WHERE machine_id IS NOT NULL;

-- When a project was given a place last, as a number that rises: of equals, the one that waited longest is next.
CREATE TABLE turns (
    project_id TEXT PRIMARY KEY NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    turn INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
