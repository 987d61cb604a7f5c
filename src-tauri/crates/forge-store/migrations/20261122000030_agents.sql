-- How a run came to its conversation with the agent's program, and what the next run of it must know.
ALTER TABLE executions ADD COLUMN session_mode TEXT NOT NULL DEFAULT 'new';
ALTER TABLE executions ADD COLUMN from_session TEXT;
ALTER TABLE executions ADD COLUMN carry TEXT;              -- JSON, the adapter's own
-- transitions.seq up to which no conversation is gone on with.
ALTER TABLE tasks ADD COLUMN session_boundary INTEGER NOT NULL DEFAULT 0;
UPDATE tasks SET session_boundary = budget_boundary;
-- What it used, model by model, and where its cost comes from.
ALTER TABLE executions ADD COLUMN models TEXT NOT NULL DEFAULT '[]';
ALTER TABLE executions ADD COLUMN cost_source TEXT;        -- null: reported if the usage has a cost, else unknown
ALTER TABLE executions ADD COLUMN price_version TEXT;

DROP INDEX executions_open;
CREATE INDEX executions_open ON executions (agent_id) WHERE status IN ('starting', 'running', 'waiting');
-- What a day has cost is asked with every start.
CREATE INDEX executions_started ON executions (started_at);

-- Questions of agents, and what people answered.
CREATE TABLE approvals (
  id           TEXT PRIMARY KEY NOT NULL,
  execution_id TEXT NOT NULL REFERENCES executions (id) ON DELETE CASCADE,
  task_id      TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
  ask          TEXT NOT NULL,              -- the question's name within its run
  kind         TEXT NOT NULL,
  title        TEXT NOT NULL,
  detail       TEXT NOT NULL,              -- JSON
  options      TEXT NOT NULL,              -- JSON
  status       TEXT NOT NULL,              -- pending | answered | expired
  answer       TEXT,
  note         TEXT,
  answered_by  TEXT,
  asked_at     INTEGER NOT NULL,
  answered_at  INTEGER,
  UNIQUE (execution_id, ask)
) STRICT;
CREATE INDEX approvals_task ON approvals (task_id, asked_at);
CREATE INDEX approvals_pending ON approvals (asked_at) WHERE status = 'pending';
