-- The lessons that branches keep, to be searched. The branch is the truth: `lesson_heads` says which content of the
-- lessons' folder the index was made from, and another one makes it anew.
CREATE VIRTUAL TABLE lesson_index USING fts5 (
  title, description, paths,
  project_id UNINDEXED, target UNINDEXED, lesson UNINDEXED,       -- lesson: JSON
  tokenize = "porter unicode61 remove_diacritics 2"
);
CREATE TABLE lesson_heads (
  project_id TEXT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
  target     TEXT NOT NULL,                -- the branch
  version    TEXT NOT NULL,                -- the name of the folder's content; empty: there is none
  PRIMARY KEY (project_id, target)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER lesson_index_of_project AFTER DELETE ON projects BEGIN
  DELETE FROM lesson_index WHERE project_id = old.id;
END;
