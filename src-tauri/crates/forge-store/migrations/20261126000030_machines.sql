-- Machines that tasks may run on, besides the one that the engine is on.
CREATE TABLE machines (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL,
    config TEXT NOT NULL, -- JSON: how it is reached
    root TEXT NOT NULL,
    labels TEXT NOT NULL, -- JSON
    caps TEXT NOT NULL, -- JSON
    draining INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;
