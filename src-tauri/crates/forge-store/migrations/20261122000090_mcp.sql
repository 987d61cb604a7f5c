-- What is set for Forge as a whole, by key.
CREATE TABLE app_settings (
  key   TEXT PRIMARY KEY NOT NULL,
  value TEXT NOT NULL            -- JSON
) STRICT;

-- The hash of the token that a run was given; good while the run is open.
ALTER TABLE executions ADD COLUMN token_hash TEXT;
CREATE UNIQUE INDEX executions_token ON executions (token_hash) WHERE token_hash IS NOT NULL;
