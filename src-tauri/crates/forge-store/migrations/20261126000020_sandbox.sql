-- What a run's sandbox came to; null where it ran without one.
ALTER TABLE executions ADD COLUMN sandbox TEXT; -- JSON
-- Projects of before were set up for programs that are not confined.
UPDATE projects SET settings = json_set(settings, '$.sandbox', json('{"mode":"off"}'))
WHERE json_extract(settings, '$.sandbox') IS NULL;
