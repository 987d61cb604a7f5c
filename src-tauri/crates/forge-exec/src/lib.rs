//! Processes: groups, timeouts, kill escalation, output caps, orphan reaping.
