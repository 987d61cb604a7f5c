-- Which machines a task requires, and where its worktree, runs and processes are; null for this computer. A machine may
-- be gone from the list while records name it.
ALTER TABLE tasks ADD COLUMN machines TEXT; -- JSON list of labels; null leaves them to agent and project
ALTER TABLE workspaces ADD COLUMN machine_id TEXT;
ALTER TABLE executions ADD COLUMN machine_id TEXT;
ALTER TABLE processes ADD COLUMN machine_id TEXT;

-- What is on a machine now.
CREATE INDEX workspaces_machine ON workspaces (machine_id) WHERE machine_id IS NOT NULL AND status <> 'cleaned';
CREATE INDEX executions_machine ON executions (machine_id)
WHERE machine_id IS NOT NULL AND status IN ('starting', 'running', 'waiting');
