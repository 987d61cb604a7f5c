-- What a review judges, and what its auditor said.
ALTER TABLE reviews ADD COLUMN base_commit TEXT;
ALTER TABLE reviews ADD COLUMN work_execution_id TEXT;
ALTER TABLE reviews ADD COLUMN audits TEXT NOT NULL DEFAULT '[]'; -- JSON, a report per run of the auditor
-- The tree that the checks ran on: the same files need not be checked twice.
ALTER TABLE reviews ADD COLUMN tree TEXT;
CREATE INDEX reviews_tree ON reviews (tree) WHERE tree IS NOT NULL;

-- Untracked files that a run found which may leave no trace (JSON); null once nothing of it is left.
ALTER TABLE executions ADD COLUMN untracked TEXT;

ALTER TABLE merges ADD COLUMN strategy TEXT NOT NULL DEFAULT 'merge';

-- Comments on lines of a task's diff.
CREATE TABLE comments (
  id          TEXT PRIMARY KEY NOT NULL,
  task_id     TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
  review_id   TEXT REFERENCES reviews (id) ON DELETE SET NULL,
  source      TEXT NOT NULL,               -- person | auditor | host
  author      TEXT NOT NULL,
  status      TEXT NOT NULL,               -- draft | sent | resolved
  severity    TEXT,
  path        TEXT NOT NULL,
  side        TEXT NOT NULL,               -- old | new
  line        INTEGER,
  last_line   INTEGER,
  anchor      TEXT NOT NULL,               -- JSON: the lines, and some around them
  at_commit   TEXT NOT NULL,               -- the version that they were read from
  text        TEXT NOT NULL,
  url         TEXT,
  external_id TEXT,                        -- the host's own name for it
  created_at  INTEGER NOT NULL,
  updated_at  INTEGER NOT NULL
) STRICT;
CREATE INDEX comments_task ON comments (task_id, created_at);
CREATE UNIQUE INDEX comments_external ON comments (task_id, external_id) WHERE external_id IS NOT NULL;

-- A task's pull request at the code host: what was asked of the host and what it said last.
CREATE TABLE pull_requests (
  task_id       TEXT PRIMARY KEY NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
  host          TEXT NOT NULL,             -- JSON
  head          TEXT NOT NULL,
  base          TEXT NOT NULL,
  intended_commit TEXT,                    -- what is about to be pushed
  pushed_commit TEXT,
  told_by       TEXT,                      -- the move whose work its title and body tell of
  pull_request  TEXT,                      -- JSON, as the host said last
  over          INTEGER,                   -- pull requests up to this number belong to earlier work
  told          TEXT NOT NULL DEFAULT '[]',-- JSON: ids of comments that the agent was told
  checked_at    INTEGER,
  changed_at    INTEGER,                   -- when a look last found something new
  next_check_at INTEGER,
  failures      INTEGER NOT NULL DEFAULT 0,-- looks in a row that failed
  trouble       TEXT,                      -- why the last look failed
  remedy        TEXT,                      -- what to do about it
  created_at    INTEGER NOT NULL,
  updated_at    INTEGER NOT NULL
) STRICT;
CREATE INDEX pull_requests_due ON pull_requests (next_check_at) WHERE next_check_at IS NOT NULL;
