-- How a decided review compares with the attempts before it; null while it is undecided, and when it checked nothing.
ALTER TABLE reviews ADD COLUMN measures TEXT; -- JSON
