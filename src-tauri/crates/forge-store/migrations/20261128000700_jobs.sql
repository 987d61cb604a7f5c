-- Jobs of clusters. Each is written down before it is submitted, and removed when nothing of it is left.
CREATE TABLE jobs (
    id TEXT PRIMARY KEY, -- what it is submitted as; no two jobs ever have it
    machine_id TEXT NOT NULL,
    task_id TEXT NOT NULL, -- may be gone
    number INTEGER, -- the cluster's
    node TEXT, -- the one that it runs or ran on, once it has begun
    over TEXT, -- JSON: how it ended, once the cluster said so
    created_at INTEGER NOT NULL
) STRICT;
CREATE INDEX jobs_of_task ON jobs (machine_id, task_id, created_at);
