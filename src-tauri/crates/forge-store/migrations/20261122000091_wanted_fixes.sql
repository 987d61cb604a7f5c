-- The reviewer who asked for a drafted fix while at work: it is applied if they send the work back.
ALTER TABLE fixes ADD COLUMN wanted_by TEXT; -- JSON
