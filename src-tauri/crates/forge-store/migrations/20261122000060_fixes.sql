-- Drafted fixes, and the attempts at drafting them.
CREATE TABLE fixes (
  seq            INTEGER PRIMARY KEY AUTOINCREMENT,
  fix_id         TEXT NOT NULL,            -- hash of base tree and patch
  task_id        TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
  execution_id   TEXT NOT NULL,
  review_id      TEXT NOT NULL,
  base_commit    TEXT NOT NULL,
  files          TEXT NOT NULL,            -- JSON
  added_lines    INTEGER NOT NULL,
  removed_lines  INTEGER NOT NULL,
  gate           TEXT NOT NULL,            -- JSON
  author         TEXT NOT NULL,            -- JSON
  cost_micro_usd INTEGER,
  status         TEXT NOT NULL,
  created_at     INTEGER NOT NULL,
  applied_commit TEXT,                     -- with status drafted: it is about to be applied as this
  verification   TEXT,                     -- JSON
  reason         TEXT,
  decided_by     TEXT,                     -- JSON
  updated_at     INTEGER NOT NULL,
  patch          TEXT NOT NULL,
  UNIQUE (task_id, fix_id)
) STRICT;

CREATE TABLE fix_drafts (
  review_id    TEXT PRIMARY KEY NOT NULL REFERENCES reviews (id) ON DELETE CASCADE,
  task_id      TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
  execution_id TEXT,
  agent_id     TEXT NOT NULL,
  file         TEXT NOT NULL,
  base_commit  TEXT NOT NULL,
  gate         TEXT NOT NULL,              -- JSON
  status       TEXT NOT NULL,
  reason       TEXT,
  fix_id       TEXT,
  started_at   INTEGER NOT NULL,
  finished_at  INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX fix_drafts_of_task ON fix_drafts (task_id, started_at);
