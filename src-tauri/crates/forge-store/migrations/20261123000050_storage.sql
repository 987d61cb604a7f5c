-- The row that a probe of the disk writes: large enough to need pages of its own.
CREATE TABLE storage_probe (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    written_at INTEGER NOT NULL,
    filler BLOB NOT NULL
) STRICT;

-- What the wall clock showed when the engine had observed so much time. Ages are counted by the left column.
CREATE TABLE clock_marks (
    observed_ms INTEGER PRIMARY KEY,
    wall_ms INTEGER NOT NULL
) STRICT;

-- Deletions that wait for a person, at most one of each kind.
CREATE TABLE retention_questions (
    kind TEXT PRIMARY KEY,
    doomed INTEGER NOT NULL,
    total INTEGER NOT NULL,
    asked_at INTEGER NOT NULL,
    -- 'delete' or 'keep'; none while nobody has answered.
    answer TEXT,
    answered_at INTEGER
) STRICT;
