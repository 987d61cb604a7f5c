-- What is skipped after a blocking step failed says so; retrying a hook finds the later ones by this reason.
UPDATE steps SET reason = 'an earlier blocking step failed' WHERE status = 'skipped' AND reason = 'behind the barrier';
