-- What `.forge.json` of the default branch says, as last read.
ALTER TABLE projects ADD COLUMN repository_config TEXT;   -- JSON
-- Projects that were there before keep what they did not have before switched off.
UPDATE projects SET settings =
  json_patch('{"innerLoop":{"autoFix":{"enabled":false},"costAnomaly":{"enabled":false}}}', settings);
