-- Races. An entry is worked on as a task of its own; here is what is known of it as an entry.
ALTER TABLE tasks ADD COLUMN race TEXT;                    -- JSON, the task's own on top of the project's

CREATE TABLE races (
  id               TEXT PRIMARY KEY NOT NULL,
  task_id          TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
  number           INTEGER NOT NULL,
  status           TEXT NOT NULL,
  base_commit      TEXT NOT NULL,
  reviewer_enabled INTEGER NOT NULL,
  max_parallel     INTEGER NOT NULL,
  timeout_sec      INTEGER NOT NULL,
  human_crown      INTEGER NOT NULL,
  keep_losers_days INTEGER NOT NULL,
  election         TEXT,                   -- JSON
  winner           TEXT,
  crowned_by       TEXT,                   -- JSON
  error            TEXT,
  started_at       INTEGER NOT NULL,
  finished_at      INTEGER,
  losers_until     INTEGER,
  cleared          INTEGER NOT NULL DEFAULT 0, -- whether no worktree of it is left
  UNIQUE (task_id, number)
) STRICT;
CREATE INDEX races_kept ON races (losers_until) WHERE losers_until IS NOT NULL;

CREATE TABLE race_entries (
  race_id          TEXT NOT NULL REFERENCES races (id) ON DELETE CASCADE,
  name             TEXT NOT NULL,
  strategy         TEXT NOT NULL,          -- JSON
  task_id          TEXT NOT NULL UNIQUE REFERENCES tasks (id) ON DELETE CASCADE,
  status           TEXT NOT NULL,
  reason           TEXT,
  gate             TEXT NOT NULL,
  reviewer_score   REAL,
  cost_micro_usd   INTEGER,
  duration_ms      INTEGER,
  diff_files       INTEGER,
  diff_added       INTEGER,
  diff_removed     INTEGER,
  commit_id        TEXT,
  branch           TEXT,
  started_at       INTEGER,
  finished_at      INTEGER,
  PRIMARY KEY (race_id, name)
) STRICT, WITHOUT ROWID;
