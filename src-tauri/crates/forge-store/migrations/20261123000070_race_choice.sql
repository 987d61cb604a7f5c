-- Races that a person has to decide, and whose work a drafted fix fits.

-- Races from before the setting were decided by names.
ALTER TABLE races ADD COLUMN name_decides INTEGER NOT NULL DEFAULT 1;
-- How many checks there were to run; unknown for races from before.
ALTER TABLE race_entries ADD COLUMN checks INTEGER;
-- The entry of a race whose work the fix was drafted for.
ALTER TABLE fixes ADD COLUMN strategy TEXT;
ALTER TABLE fix_drafts ADD COLUMN strategy TEXT;
