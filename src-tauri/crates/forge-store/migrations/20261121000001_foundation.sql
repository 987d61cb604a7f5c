-- Times are integer milliseconds since the Unix epoch, UTC. JSON columns hold the model's own shapes.
CREATE TABLE projects (
  id               TEXT PRIMARY KEY NOT NULL,
  name             TEXT NOT NULL UNIQUE,
  repo_path        TEXT NOT NULL,
  default_branch   TEXT NOT NULL,
  work_mode        TEXT NOT NULL,
  settings         TEXT NOT NULL,             -- JSON: what differs from the defaults
  workflow         TEXT NOT NULL,             -- JSON: the definition
  paused           INTEGER NOT NULL DEFAULT 0,
  next_task_number INTEGER NOT NULL DEFAULT 1,
  version          INTEGER NOT NULL DEFAULT 1,
  created_at       INTEGER NOT NULL,
  updated_at       INTEGER NOT NULL
) STRICT;

CREATE TABLE agents (
  id             TEXT PRIMARY KEY NOT NULL,
  name           TEXT NOT NULL UNIQUE,
  adapter        TEXT NOT NULL,
  config         TEXT NOT NULL,               -- JSON: the adapter's own
  model          TEXT,
  max_concurrent INTEGER NOT NULL DEFAULT 1,
  paused         INTEGER NOT NULL DEFAULT 0,
  created_at     INTEGER NOT NULL,
  updated_at     INTEGER NOT NULL
) STRICT;

CREATE TABLE tasks (
  id                TEXT PRIMARY KEY NOT NULL,
  project_id        TEXT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
  number            INTEGER NOT NULL,
  title             TEXT NOT NULL,
  description       TEXT NOT NULL,
  status            TEXT NOT NULL,
  priority          INTEGER NOT NULL DEFAULT 0,
  position          REAL NOT NULL,
  version           INTEGER NOT NULL DEFAULT 1,
  parent_id         TEXT REFERENCES tasks (id) ON DELETE SET NULL,
  execution_mode    TEXT NOT NULL DEFAULT 'independent',
  subtask_order     INTEGER,
  review_config     TEXT,
  merge_config      TEXT,
  task_state_config TEXT,
  review_passed_at  INTEGER,
  entry_barrier     TEXT,
  error_annotation  TEXT,
  waiting           TEXT,
  held              INTEGER NOT NULL DEFAULT 0,
  budget_boundary   INTEGER NOT NULL DEFAULT 0, -- transitions.seq up to which nothing counts
  diff_files        INTEGER,
  diff_added        INTEGER,
  diff_removed      INTEGER,
  status_since      INTEGER NOT NULL,
  created_at        INTEGER NOT NULL,
  updated_at        INTEGER NOT NULL,
  UNIQUE (project_id, number)
) STRICT;
CREATE INDEX tasks_board ON tasks (project_id, status, position, id);
CREATE INDEX tasks_parent ON tasks (parent_id) WHERE parent_id IS NOT NULL;
CREATE INDEX tasks_attention ON tasks (status_since) WHERE error_annotation IS NOT NULL;
CREATE INDEX tasks_waiting ON tasks (project_id) WHERE waiting IS NOT NULL;

CREATE TABLE task_roles (
  task_id  TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
  role     TEXT NOT NULL,
  kind     TEXT NOT NULL,
  agent_id TEXT REFERENCES agents (id) ON DELETE RESTRICT,
  PRIMARY KEY (task_id, role),
  CHECK ((kind = 'agent') = (agent_id IS NOT NULL))
) STRICT, WITHOUT ROWID;
CREATE INDEX task_roles_agent ON task_roles (agent_id) WHERE agent_id IS NOT NULL;

CREATE TABLE task_dependencies (
  task_id    TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
  depends_on TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
  PRIMARY KEY (task_id, depends_on),
  CHECK (task_id <> depends_on)
) STRICT, WITHOUT ROWID;
CREATE INDEX task_dependencies_reverse ON task_dependencies (depends_on);

CREATE TABLE transitions (
  seq           INTEGER PRIMARY KEY AUTOINCREMENT,
  id            TEXT NOT NULL UNIQUE,
  task_id       TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
  from_state    TEXT NOT NULL,
  to_state      TEXT NOT NULL,
  trigger       TEXT NOT NULL,
  actor         TEXT NOT NULL,
  audience      TEXT NOT NULL,               -- of what started the chain: user | agent
  reason        TEXT,
  rejection     INTEGER NOT NULL DEFAULT 0,
  cascade_depth INTEGER NOT NULL DEFAULT 0,
  at            INTEGER NOT NULL
) STRICT;
CREATE INDEX transitions_task ON transitions (task_id, seq);

-- The queue of what is still to be done for a task, and the record of what was.
CREATE TABLE steps (
  id             INTEGER PRIMARY KEY AUTOINCREMENT,
  task_id        TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
  transition_seq INTEGER REFERENCES transitions (seq) ON DELETE CASCADE,
  execution_id   TEXT,
  state          TEXT NOT NULL,              -- the task's state that the step belongs to
  kind           TEXT NOT NULL,
  phase          TEXT NOT NULL,
  action         TEXT,
  params         TEXT,
  on_failure     TEXT,
  applies_to     TEXT NOT NULL DEFAULT 'all',
  status         TEXT NOT NULL DEFAULT 'pending',
  outcome        TEXT,
  reason         TEXT,
  log_id         TEXT,
  not_before     INTEGER,
  runs           INTEGER NOT NULL DEFAULT 0,
  started_at     INTEGER,
  finished_at    INTEGER
) STRICT;
CREATE INDEX steps_open ON steps (task_id, id) WHERE status <> 'done';
CREATE INDEX steps_transition ON steps (transition_seq, id);

CREATE TABLE executions (
  seq                 INTEGER PRIMARY KEY AUTOINCREMENT,
  id                  TEXT NOT NULL UNIQUE,
  task_id             TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
  role                TEXT NOT NULL,
  agent_id            TEXT NOT NULL REFERENCES agents (id) ON DELETE RESTRICT,
  attempt             INTEGER NOT NULL,
  status              TEXT NOT NULL,
  parent_execution_id TEXT,
  session_id          TEXT,
  cause               TEXT NOT NULL,
  corrections         TEXT NOT NULL,         -- JSON list: what the prompt carries
  activity            TEXT NOT NULL DEFAULT '',
  before_commit       TEXT,
  after_commit        TEXT,
  usage               TEXT NOT NULL,         -- JSON: the run's sums
  conflict            TEXT,
  error               TEXT,
  summary             TEXT,
  spends              TEXT,                  -- the budget this run was paid from
  after_transition    INTEGER NOT NULL,      -- transitions.seq when it was started
  started_at          INTEGER NOT NULL,
  finished_at         INTEGER
) STRICT;
CREATE INDEX executions_task ON executions (task_id, seq);
CREATE INDEX executions_open ON executions (agent_id) WHERE status IN ('starting', 'running');

CREATE TABLE slots (
  task_id     TEXT PRIMARY KEY NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
  project_id  TEXT NOT NULL,
  agent_id    TEXT NOT NULL REFERENCES agents (id) ON DELETE CASCADE,
  acquired_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX slots_agent ON slots (agent_id);

CREATE TABLE reviews (
  id              TEXT PRIMARY KEY NOT NULL,
  task_id         TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
  attempt_number  INTEGER NOT NULL,
  state           TEXT NOT NULL,
  status          TEXT NOT NULL,
  verdict         TEXT,
  note            TEXT,
  reason          TEXT,
  decided_by      TEXT,
  reviewed_commit TEXT,
  transition_seq  INTEGER NOT NULL,
  started_at      INTEGER NOT NULL,
  finished_at     INTEGER,
  UNIQUE (task_id, attempt_number)
) STRICT;

CREATE TABLE review_steps (
  review_id   TEXT NOT NULL REFERENCES reviews (id) ON DELETE CASCADE,
  idx         INTEGER NOT NULL,
  step        TEXT NOT NULL,                 -- JSON: the check's record
  PRIMARY KEY (review_id, idx)
) STRICT, WITHOUT ROWID;

CREATE TABLE merges (
  id            TEXT PRIMARY KEY NOT NULL,
  task_id       TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
  target        TEXT NOT NULL,
  source_commit TEXT NOT NULL,
  merge_commit  TEXT,
  target_before TEXT,
  status        TEXT NOT NULL,               -- intended | landed | nothing | conflict | failed
  reason        TEXT,
  created_at    INTEGER NOT NULL,
  updated_at    INTEGER NOT NULL
) STRICT;
CREATE INDEX merges_task ON merges (task_id, created_at);

CREATE TABLE workspaces (
  id          TEXT PRIMARY KEY NOT NULL,
  task_id     TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
  status      TEXT NOT NULL,
  path        TEXT NOT NULL,
  branch      TEXT NOT NULL,
  base_commit TEXT NOT NULL,
  cleanup_at  INTEGER,
  disk_bytes  INTEGER,
  error       TEXT,
  port_base   INTEGER NOT NULL,
  created_at  INTEGER NOT NULL,
  updated_at  INTEGER NOT NULL
) STRICT;
CREATE INDEX workspaces_task ON workspaces (task_id, created_at);
CREATE INDEX workspaces_due ON workspaces (cleanup_at) WHERE status IN ('scheduled', 'error');

-- Processes that run on a task's behalf, so that a later engine finds what an earlier one left behind.
CREATE TABLE processes (
  marker     TEXT PRIMARY KEY NOT NULL,
  task_id    TEXT NOT NULL,
  pid        INTEGER NOT NULL,
  start_time INTEGER NOT NULL,
  boot_id    TEXT NOT NULL,
  started_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE events (
  seq        INTEGER PRIMARY KEY AUTOINCREMENT,
  type       TEXT NOT NULL,
  at         INTEGER NOT NULL,
  project_id TEXT,
  task_id    TEXT,
  entity_id  TEXT NOT NULL,
  data       TEXT NOT NULL
) STRICT;

CREATE TABLE notifications (
  id         TEXT PRIMARY KEY NOT NULL,
  kind       TEXT NOT NULL,
  project_id TEXT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
  task_id    TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
  body       TEXT NOT NULL,
  cause      TEXT NOT NULL UNIQUE,           -- one cause is told once
  read       INTEGER NOT NULL DEFAULT 0,
  created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX notifications_unread ON notifications (created_at) WHERE read = 0;
