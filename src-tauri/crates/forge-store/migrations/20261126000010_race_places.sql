-- An entry of a race has the number of its task and, now in a column of its own, its place among all entries of that
-- task. Until now the place stood above the 32nd bit of the number, because numbers were unique among all tasks of a
-- project. They stay unique among those that are no entries. SQLite cannot change such a constraint, so the table is
-- made again. Foreign keys are off while migrations run (`open.rs`): otherwise dropping the old table would delete the
-- rows that refer to it.
CREATE TABLE tasks_with_places (
  id                TEXT PRIMARY KEY NOT NULL,
  project_id        TEXT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
  number            INTEGER NOT NULL,           -- of an entry: its task's
  race_place        INTEGER,                    -- of an entry: 1, 2, ... in all races of its task
  title             TEXT NOT NULL,
  description       TEXT NOT NULL,
  status            TEXT NOT NULL,
  priority          INTEGER NOT NULL DEFAULT 0,
  position          REAL NOT NULL,
  version           INTEGER NOT NULL DEFAULT 1,
  parent_id         TEXT REFERENCES tasks (id) ON DELETE SET NULL,
  execution_mode    TEXT NOT NULL DEFAULT 'independent',
  subtask_order     INTEGER,
  commit_result     TEXT,
  review_config     TEXT,
  merge_config      TEXT,
  task_state_config TEXT,
  race              TEXT,                       -- JSON, the task's own on top of the project's
  review_passed_at  INTEGER,
  entry_barrier     TEXT,
  error_annotation  TEXT,
  waiting           TEXT,
  held              INTEGER NOT NULL DEFAULT 0,
  budget_boundary   INTEGER NOT NULL DEFAULT 0, -- transitions.seq up to which nothing counts
  session_boundary  INTEGER NOT NULL DEFAULT 0,
  diff_files        INTEGER,
  diff_added        INTEGER,
  diff_removed      INTEGER,
  unmerged_commits  INTEGER NOT NULL DEFAULT 0, -- of the task's branch, as last counted
  closed_unmerged   INTEGER NOT NULL DEFAULT 0, -- a person closed it without a merge
  work_changed      TEXT,                       -- JSON: how the work differs from the reviewed commit
  status_since      INTEGER NOT NULL,
  created_at        INTEGER NOT NULL,
  updated_at        INTEGER NOT NULL
) STRICT;

INSERT INTO tasks_with_places (id, project_id, number, race_place, title, description, status, priority, position, version,
  parent_id, execution_mode, subtask_order, commit_result, review_config, merge_config, task_state_config, race,
  review_passed_at, entry_barrier, error_annotation, waiting, held, budget_boundary, session_boundary, diff_files,
  diff_added, diff_removed, unmerged_commits, closed_unmerged, work_changed, status_since, created_at, updated_at)
SELECT id, project_id, number & 4294967295,
  CASE execution_mode WHEN 'race_entry' THEN coalesce(nullif(number >> 32, 0), subtask_order, 0) END,
  title, description, status, priority, position, version, parent_id, execution_mode,
  CASE execution_mode WHEN 'race_entry' THEN NULL ELSE subtask_order END,
  commit_result, review_config, merge_config, task_state_config, race,
  review_passed_at, entry_barrier, error_annotation, waiting, held, budget_boundary, session_boundary, diff_files,
  diff_added, diff_removed, unmerged_commits, closed_unmerged, work_changed, status_since, created_at, updated_at
FROM tasks ORDER BY rowid;

DROP TABLE tasks;
ALTER TABLE tasks_with_places RENAME TO tasks;

-- Forge wrote no rows that break the two unique indices below, but a database that somebody edited may have some. They
-- must not keep it from opening: a second entry at one place makes all entries of its task be counted again, in their
-- order, and a second task of one number gets the next free number.
UPDATE tasks SET race_place = counted.place FROM (
  SELECT id, row_number() OVER (PARTITION BY parent_id ORDER BY race_place, rowid) AS place
  FROM tasks WHERE execution_mode = 'race_entry' AND parent_id IN (
    SELECT parent_id FROM tasks WHERE execution_mode = 'race_entry'
    GROUP BY parent_id HAVING count(DISTINCT race_place) < count(*))
) AS counted WHERE tasks.id = counted.id;

UPDATE tasks SET number = twins.number FROM (
  SELECT id, row_number() OVER (PARTITION BY project_id ORDER BY number, rowid) - 1 + max(
      (SELECT max(number) + 1 FROM tasks every WHERE every.project_id = ranked.project_id),
      coalesce((SELECT next_task_number FROM projects WHERE projects.id = ranked.project_id), 1)) AS number
  FROM (
    SELECT rowid, id, project_id, number, row_number() OVER (PARTITION BY project_id, number ORDER BY rowid) AS rank
    FROM tasks WHERE execution_mode <> 'race_entry') AS ranked
  WHERE rank > 1
) AS twins WHERE tasks.id = twins.id;
UPDATE projects SET next_task_number = highest.number + 1 FROM (
  SELECT project_id, max(number) AS number FROM tasks GROUP BY project_id
) AS highest WHERE projects.id = highest.project_id AND next_task_number <= highest.number;

CREATE UNIQUE INDEX tasks_number ON tasks (project_id, number) WHERE execution_mode <> 'race_entry';
CREATE UNIQUE INDEX tasks_race_place ON tasks (parent_id, race_place) WHERE execution_mode = 'race_entry';
CREATE INDEX tasks_board ON tasks (project_id, status, position, id);
CREATE INDEX tasks_list ON tasks (project_id, position, id) WHERE execution_mode <> 'race_entry';
CREATE INDEX tasks_parent ON tasks (parent_id) WHERE parent_id IS NOT NULL;
CREATE INDEX tasks_attention ON tasks (status_since) WHERE error_annotation IS NOT NULL;
CREATE INDEX tasks_waiting ON tasks (project_id) WHERE waiting IS NOT NULL;
