-- Names of variables of the user's environment that were kept from a run.
ALTER TABLE executions ADD COLUMN withheld TEXT NOT NULL DEFAULT '[]'; -- JSON
