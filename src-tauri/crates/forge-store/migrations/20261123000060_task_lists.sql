-- A project's tasks in board order, so that a page is read without sorting all of them.
CREATE INDEX tasks_list ON tasks (project_id, position, id) WHERE execution_mode <> 'race_entry';
-- Reviews that wait for a person, for the list of tasks that need one.
CREATE INDEX reviews_awaiting ON reviews (task_id) WHERE status = 'awaiting_human';
