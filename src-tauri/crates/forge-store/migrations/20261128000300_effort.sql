-- How hard the agent was asked to think; null: not at all, or nobody knows.
ALTER TABLE executions ADD COLUMN effort TEXT;
UPDATE executions SET effort = coalesce(
  (SELECT json_extract(e.strategy, '$.effort') FROM race_entries e WHERE e.task_id = executions.task_id),
  (SELECT json_extract(a.config, '$.effort') FROM agents a WHERE a.id = executions.agent_id)
) WHERE role = 'coder';
