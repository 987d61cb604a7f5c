-- The files of repositories that say which programs git runs, as a person accepted them. By the repository's path:
-- several projects may share one.
CREATE TABLE accepted_repositories (
    repo_path   TEXT NOT NULL PRIMARY KEY,
    accepted_at INTEGER NOT NULL
) STRICT;

CREATE TABLE accepted_files (
    repo_path  TEXT NOT NULL REFERENCES accepted_repositories (repo_path) ON DELETE CASCADE,
    path       TEXT NOT NULL, -- from the common directory, absolute when it lies elsewhere
    executable INTEGER NOT NULL,
    sha256     TEXT NOT NULL,
    content    BLOB, -- nothing when it is too large to be kept
    PRIMARY KEY (repo_path, path)
) STRICT;
