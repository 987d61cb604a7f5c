-- How the work of an ordered subtask's turn was committed (JSON), and whose turn a run was.
ALTER TABLE tasks ADD COLUMN commit_result TEXT;
ALTER TABLE executions ADD COLUMN subtask_id TEXT;
-- Where a workflow that is kept in the repository was read (JSON: commit, findings of a newer text).
ALTER TABLE projects ADD COLUMN workflow_origin TEXT;
-- A log is found by its name alone.
CREATE INDEX steps_log ON steps (log_id) WHERE log_id IS NOT NULL;
-- Until when an agent's provider asks to wait. The limit is the agent's, so no task of it starts before.
CREATE TABLE agent_limits (
  agent_id TEXT PRIMARY KEY NOT NULL REFERENCES agents (id) ON DELETE CASCADE,
  until    INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
