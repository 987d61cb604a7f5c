-- What agents proposed to remember, and what people decided. What a row says is what was proposed and never
-- changes: the same thing is not proposed twice, whatever became of it. What was accepted is in the file.
CREATE TABLE lessons (
  id           TEXT PRIMARY KEY NOT NULL,
  project_id   TEXT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
  task_id      TEXT REFERENCES tasks (id) ON DELETE SET NULL,
  task_number  INTEGER,
  execution_id TEXT REFERENCES executions (id) ON DELETE SET NULL,
  title        TEXT NOT NULL,
  body         TEXT NOT NULL,
  paths        TEXT NOT NULL,                -- JSON list
  status       TEXT NOT NULL,                -- proposed | accepted | dismissed
  target       TEXT,                         -- the branch that gets it; with file and commit_id of a proposal: the
  file         TEXT,                         -- intent to land it, settled from what git says
  commit_id    TEXT,
  created_at   INTEGER NOT NULL,
  decided_at   INTEGER
) STRICT;
CREATE UNIQUE INDEX lessons_said ON lessons (project_id, title, body);
CREATE INDEX lessons_status ON lessons (project_id, status, created_at);
CREATE INDEX lessons_task ON lessons (task_id);
CREATE INDEX lessons_execution ON lessons (execution_id);
