-- The machine that a place was given on, so that the worktree is made there and nowhere else; null for this computer.
ALTER TABLE slots ADD COLUMN machine_id TEXT;
UPDATE slots SET machine_id = (
    SELECT w.machine_id FROM workspaces w WHERE w.task_id = slots.task_id AND w.status <> 'cleaned'
    ORDER BY w.created_at DESC, w.rowid DESC LIMIT 1
);
CREATE INDEX slots_machine ON slots (machine_id) WHERE machine_id IS NOT NULL;
CREATE INDEX slots_project ON slots (project_id);

-- What may run on a machine on one day.
ALTER TABLE machines ADD COLUMN quota TEXT NOT NULL DEFAULT '{}'; -- JSON

-- Runs that began on a machine and what they have cost, whatever becomes of their tasks. A row is a quarter of an hour
-- (in Unix time), because every time zone begins its days at one.
CREATE TABLE machine_usage (
    machine_id TEXT NOT NULL,
    quarter INTEGER NOT NULL,
    runs INTEGER NOT NULL,
    micro_usd INTEGER NOT NULL,
    PRIMARY KEY (machine_id, quarter)
) STRICT, WITHOUT ROWID;
INSERT INTO machine_usage (machine_id, quarter, runs, micro_usd)
    SELECT machine_id, started_at / 900000, count(*), coalesce(sum(json_extract(usage, '$.cost_micro_usd')), 0)
    FROM executions WHERE machine_id IS NOT NULL GROUP BY 1, 2;

CREATE TRIGGER machine_usage_begun AFTER INSERT ON executions WHEN NEW.machine_id IS NOT NULL BEGIN
    INSERT INTO machine_usage (machine_id, quarter, runs, micro_usd)
    VALUES (NEW.machine_id, NEW.started_at / 900000, 1, coalesce(json_extract(NEW.usage, '$.cost_micro_usd'), 0))
    ON CONFLICT (machine_id, quarter) DO UPDATE SET runs = runs + 1, micro_usd = micro_usd + excluded.micro_usd;
    -- No day reaches further back than these. A clock that was ahead for a while erases nothing: the latest of them stay.
    DELETE FROM machine_usage WHERE machine_id = NEW.machine_id AND quarter < (
        SELECT quarter FROM machine_usage WHERE machine_id = NEW.machine_id ORDER BY quarter DESC LIMIT 1 OFFSET 384
    );
END;
CREATE TRIGGER machine_usage_cost AFTER UPDATE OF usage ON executions WHEN NEW.machine_id IS NOT NULL BEGIN
    UPDATE machine_usage
    SET micro_usd = max(0, micro_usd + coalesce(json_extract(NEW.usage, '$.cost_micro_usd'), 0) - coalesce(json_extract(OLD.usage, '$.cost_micro_usd'), 0))
    WHERE machine_id = NEW.machine_id AND quarter = NEW.started_at / 900000;
END;
CREATE TRIGGER machine_usage_gone AFTER DELETE ON machines BEGIN
    DELETE FROM machine_usage WHERE machine_id = OLD.id;
END;

-- What each project was given last of an agent and of a machine, and of itself: the turn, as a number that rises over all,
-- and how many places since one of them went to the task that had waited longest.
CREATE TABLE turns (
    project_id TEXT NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    whose TEXT NOT NULL, -- the id of the agent, of the machine, or of the project
    turn INTEGER NOT NULL,
    passed INTEGER NOT NULL,
    PRIMARY KEY (project_id, whose)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER turns_agent_gone AFTER DELETE ON agents BEGIN
    DELETE FROM turns WHERE whose = OLD.id;
END;
CREATE TRIGGER turns_machine_gone AFTER DELETE ON machines BEGIN
    DELETE FROM turns WHERE whose = OLD.id;
END;
