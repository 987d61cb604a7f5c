-- Contents of startup files that a person trusted, for a project. Contents accepted earlier stay accepted: tasks on
-- other branches still have them. Projects that were there before have none, so their first run asks.
CREATE TABLE project_trust (
    project_id  TEXT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    path        TEXT NOT NULL, -- from the repository's root
    sha256      TEXT NOT NULL, -- empty: that the file is gone was accepted
    commit_id   TEXT, -- the commit that has it; nothing when it lay uncommitted in a worktree
    accepted_at INTEGER NOT NULL,
    content     BLOB, -- to show what changes later; nothing when it is too large to be kept
    PRIMARY KEY (project_id, path, sha256)
) STRICT;
