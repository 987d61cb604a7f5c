-- Everything that was made up to this time is what a question asks about, and what an answer to keep keeps. Of questions
-- from before, the time of the answer is a bound that is surely not too low.
ALTER TABLE retention_questions ADD COLUMN until INTEGER NOT NULL DEFAULT 0;
UPDATE retention_questions SET until = coalesce(answered_at, asked_at);
