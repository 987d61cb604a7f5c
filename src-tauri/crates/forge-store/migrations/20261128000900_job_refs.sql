-- Jobs are known by what their cluster calls them, which is a number of Slurm or a name of Kubernetes, and of Kubernetes
-- also by the pod that they began in.
CREATE TABLE jobs_now (
    id TEXT PRIMARY KEY, -- what it is submitted as; no two jobs ever have it
    machine_id TEXT NOT NULL,
    task_id TEXT NOT NULL, -- may be gone
    job TEXT, -- what the cluster calls it
    node TEXT, -- the one that it runs or ran on, once it has begun
    pod TEXT, -- the one that it began in, where the cluster has pods
    server TEXT, -- the address of the one that it is created on, where a cluster may be reached by several
    over TEXT, -- JSON: how it ended, once the cluster said so
    created_at INTEGER NOT NULL
) STRICT;
INSERT INTO jobs_now (id, machine_id, task_id, job, node, over, created_at)
SELECT id, machine_id, task_id, CAST(number AS TEXT), node,
    CASE WHEN json_type(over, '$.job') = 'integer'
        THEN json_set(over, '$.job', CAST(json_extract(over, '$.job') AS TEXT)) ELSE over END,
    created_at
FROM jobs ORDER BY rowid;
DROP TABLE jobs;
ALTER TABLE jobs_now RENAME TO jobs;
CREATE INDEX jobs_of_task ON jobs (machine_id, task_id, created_at);
