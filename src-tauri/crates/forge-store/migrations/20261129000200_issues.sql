-- Issues: where a task comes from, and imports that are under way. What is compared at the next import is what was imported
-- last, not what the task says now.
CREATE TABLE issue_sources (
    task_id     TEXT PRIMARY KEY REFERENCES tasks (id) ON DELETE CASCADE,
    project_id  TEXT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    source      TEXT NOT NULL, -- the repository or file, such as `github:github.com/octo/app`
    ref         TEXT NOT NULL, -- the issue in it
    kind        TEXT NOT NULL,
    name        TEXT NOT NULL, -- for people, such as `GitHub octo/app#12`
    url         TEXT,
    is_public   INTEGER NOT NULL,
    state       TEXT NOT NULL,
    title       TEXT NOT NULL, -- as imported last
    description TEXT NOT NULL, -- as imported last
    labels      TEXT NOT NULL, -- JSON
    comments    TEXT NOT NULL, -- JSON
    pending     TEXT,          -- JSON: what the issue says where it and the task were both changed
    imported_at INTEGER NOT NULL,
    UNIQUE (project_id, source, ref)
) STRICT;

CREATE TABLE issue_imports (
    id          TEXT PRIMARY KEY,
    project_id  TEXT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    origin      TEXT NOT NULL, -- JSON: the repository at the code host, or the file
    query       TEXT,          -- JSON: what is listed before the items are complete
    next_page   INTEGER,       -- the page to list next; none when the items are complete
    is_public   INTEGER,       -- whether the repository is; none until the code host said so
    state_name  TEXT NOT NULL, -- the state of the workflow that new tasks are created in
    status      TEXT NOT NULL,
    problem     TEXT,
    remedy      TEXT,
    retry_at    INTEGER,
    failures    INTEGER NOT NULL DEFAULT 0,
    created_at  INTEGER NOT NULL,
    finished_at INTEGER
) STRICT;

CREATE INDEX issue_imports_project ON issue_imports (project_id, created_at);

CREATE TABLE issue_import_items (
    import_id TEXT NOT NULL REFERENCES issue_imports (id) ON DELETE CASCADE,
    position  INTEGER NOT NULL,
    ref       TEXT NOT NULL,
    issue     TEXT, -- JSON: the issue, when it was listed
    outcome   TEXT,
    task_id   TEXT REFERENCES tasks (id) ON DELETE SET NULL,
    message   TEXT,
    PRIMARY KEY (import_id, position),
    UNIQUE (import_id, ref)
) STRICT;

-- What is to be written to the issues of tasks, in the order of the moves that it tells of.
CREATE TABLE issue_reports (
    position   INTEGER PRIMARY KEY,
    id         TEXT NOT NULL UNIQUE,
    task_id    TEXT NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    kind       TEXT NOT NULL,
    labels     TEXT, -- JSON: which labels change
    created_at INTEGER NOT NULL,
    asked_at   INTEGER,
    sent_at    INTEGER,
    retry_at   INTEGER,
    failures   INTEGER NOT NULL DEFAULT 0,
    problem    TEXT,
    remedy     TEXT
) STRICT;

CREATE INDEX issue_reports_task ON issue_reports (task_id);
CREATE INDEX issue_reports_unsent ON issue_reports (task_id, position) WHERE sent_at IS NULL;
