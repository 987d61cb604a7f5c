-- What the parts of the inner loop did last, where no table of their own tells.
CREATE TABLE loop_effects (
  project_id TEXT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
  part       TEXT NOT NULL,
  task_id    TEXT REFERENCES tasks (id) ON DELETE SET NULL,
  effect     TEXT NOT NULL,                -- a sentence without its point
  at         INTEGER NOT NULL,
  PRIMARY KEY (project_id, part)
) STRICT, WITHOUT ROWID;
CREATE INDEX loop_effects_task ON loop_effects (task_id);

-- The note that a finished task left; the last one counts.
CREATE TABLE trajectories (
  task_id      TEXT PRIMARY KEY NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
  execution_id TEXT NOT NULL,
  agent_id     TEXT NOT NULL,
  text         TEXT NOT NULL,
  is_cut       INTEGER NOT NULL,
  at           INTEGER NOT NULL,
  exported     INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

CREATE TABLE postmortems (
  task_id   TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
  number    INTEGER NOT NULL,              -- 1, 2, ... per task
  review_id TEXT,                          -- the review that failed; at most one is written about it
  at        INTEGER NOT NULL,
  record    TEXT NOT NULL,                 -- JSON
  exported  INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (task_id, number)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX postmortems_review ON postmortems (review_id) WHERE review_id IS NOT NULL;
