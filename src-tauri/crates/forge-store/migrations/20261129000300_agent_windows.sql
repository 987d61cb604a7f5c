-- Windows of the rate limits of providers, as the programs of agents last reported them.
CREATE TABLE agent_windows (
    agent_id     TEXT NOT NULL REFERENCES agents (id) ON DELETE CASCADE,
    name         TEXT NOT NULL,
    minutes      INTEGER,
    used_percent INTEGER NOT NULL,
    resets_at    INTEGER,
    seen_at      INTEGER NOT NULL,
    PRIMARY KEY (agent_id, name)
) STRICT;
