-- Whether a run goes on by itself with what the one before it was cut short in.
ALTER TABLE executions ADD COLUMN goes_on INTEGER NOT NULL DEFAULT 0;
UPDATE executions SET goes_on = 1
  WHERE role = 'coder' AND cause IN ('automatic restart', 'Forge was restarted', 'the limit is over');

-- The ledger is read by the time at which runs ended, the latest first.
CREATE INDEX executions_ended ON executions (finished_at, seq) WHERE finished_at IS NOT NULL;

-- What coder runs cost, each with the restarts that followed by themselves, in the order in which they ended: what
-- later ones are compared with. A row is written once and never changed.
CREATE TABLE cost_samples (
  seq          INTEGER PRIMARY KEY AUTOINCREMENT,
  execution_id TEXT NOT NULL UNIQUE REFERENCES executions (id) ON DELETE CASCADE, -- the last of its runs
  project_id   TEXT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
  task_id      TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,             -- of a race's entry: the raced one
  agent_id     TEXT NOT NULL REFERENCES agents (id) ON DELETE CASCADE,
  strategy     TEXT,
  model        TEXT NOT NULL,            -- the one really used
  asked        TEXT,                     -- the one asked for
  cost         INTEGER,                  -- micro-dollars; null: unknown
  attempts     INTEGER NOT NULL,
  median       REAL,                     -- of those before it; null: too few
  ratio        REAL,                     -- above how many medians it would have been an anomaly
  anomaly      INTEGER NOT NULL DEFAULT 0,
  ended_at     INTEGER NOT NULL
) STRICT;
CREATE INDEX cost_samples_known ON cost_samples (project_id, model, seq, cost) WHERE cost IS NOT NULL;
CREATE INDEX cost_samples_agent ON cost_samples (agent_id, seq);
CREATE INDEX cost_samples_task ON cost_samples (task_id);

CREATE TABLE cost_anomalies (
  execution_id TEXT PRIMARY KEY NOT NULL REFERENCES executions (id) ON DELETE CASCADE,
  project_id   TEXT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
  task_id      TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
  at           INTEGER NOT NULL,
  record       TEXT NOT NULL,            -- JSON
  exported     INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX cost_anomalies_at ON cost_anomalies (at);
CREATE INDEX cost_anomalies_task ON cost_anomalies (task_id);
CREATE INDEX cost_anomalies_unexported ON cost_anomalies (project_id) WHERE exported = 0;

-- What was there before: every chain of coder runs that ended by itself.
WITH RECURSIVE
  runs AS (
    SELECT x.seq, x.id, x.task_id, x.agent_id, x.status, x.finished_at, x.goes_on, x.models,
           json_extract(x.usage, '$.cost_micro_usd') AS cost,
           lag(x.seq) OVER (PARTITION BY x.task_id ORDER BY x.seq) AS before,
           lead(x.goes_on) OVER (PARTITION BY x.task_id ORDER BY x.seq) AS next_goes_on
    FROM executions x WHERE x.role = 'coder'
  ),
  chain (last, seq) AS (
    SELECT seq, seq FROM runs WHERE status IN ('finished', 'failed') AND coalesce(next_goes_on, 0) = 0
    UNION ALL
    SELECT c.last, r.before FROM chain c JOIN runs r ON r.seq = c.seq
    WHERE r.goes_on = 1 AND r.before IS NOT NULL
  ),
  sums AS (
    SELECT c.last, count(*) AS attempts, CASE WHEN count(r.cost) = count(*) THEN sum(r.cost) END AS cost
    FROM chain c JOIN runs r ON r.seq = c.seq GROUP BY c.last
  ),
  used AS (
    SELECT c.last, json_extract(m.value, '$.model') AS model,
           row_number() OVER (PARTITION BY c.last
             ORDER BY sum(coalesce(json_extract(m.value, '$.cost_micro_usd'), 0)) DESC,
                      sum(json_extract(m.value, '$.output')) DESC) AS place
    FROM chain c JOIN runs r ON r.seq = c.seq, json_each(r.models) m GROUP BY c.last, model
  )
INSERT INTO cost_samples (execution_id, project_id, task_id, agent_id, strategy, model, asked, cost, attempts, ended_at)
SELECT r.id, t.project_id, CASE WHEN t.execution_mode = 'race_entry' THEN coalesce(t.parent_id, t.id) ELSE t.id END,
       r.agent_id, e.name, coalesce(u.model, ''), coalesce(json_extract(e.strategy, '$.model'), a.model), s.cost,
       s.attempts, coalesce(r.finished_at, 0)
FROM sums s JOIN runs r ON r.seq = s.last JOIN tasks t ON t.id = r.task_id JOIN agents a ON a.id = r.agent_id
     LEFT JOIN used u ON u.last = s.last AND u.place = 1 LEFT JOIN race_entries e ON e.task_id = t.id
ORDER BY r.finished_at, r.seq;
