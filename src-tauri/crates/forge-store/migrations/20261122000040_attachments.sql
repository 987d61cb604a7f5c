-- Files for an agent. The files themselves lie beside the logs, by the id.
CREATE TABLE attachments (
  id       TEXT PRIMARY KEY NOT NULL,
  task_id  TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
  name     TEXT NOT NULL,
  bytes    INTEGER NOT NULL,
  added_at INTEGER NOT NULL,
  sent_at  INTEGER                 -- null: waits for its message
) STRICT;
CREATE INDEX attachments_task ON attachments (task_id, added_at);

-- What people said that a run was started with. JSON.
ALTER TABLE executions ADD COLUMN messages TEXT NOT NULL DEFAULT '[]';
