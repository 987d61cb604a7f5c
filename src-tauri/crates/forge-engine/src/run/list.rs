//! The runs and their processes at this moment, looked up when somebody asks.

use std::collections::HashMap;

use forge_exec::{SeenProcess, look};
use forge_model::ids::ExecutionId;
use forge_model::run::{RunInfo, RunKind, RunProcess};
use forge_model::time::Timestamp;

use crate::{EngineError, World, error::Result, run};

/// How the marker of an agent's processes begins, see [`forge_agents::marker_of`].
const AGENT: &str = "execution-";

/// Everything that runs on behalf of tasks, the longest first.
pub(crate) async fn runs(world: &World) -> Result<Vec<RunInfo>> {
    let seen = tokio::task::spawn_blocking(look).await;
    let mut seen =
        seen.map_err(|error| EngineError::io("read the processes")(std::io::Error::other(error)))?;
    let mut conn = world.store().read().await?;
    let mut runs = Vec::new();
    for row in conn.processes().list().await? {
        let execution = match row.marker.strip_prefix(AGENT) {
            Some(id) => conn.executions().get(&ExecutionId(id.to_owned())).await?,
            None => None,
        };
        let task = conn.tasks().get(&row.task_id).await?;
        let found = seen.remove(&row.marker).unwrap_or_default();
        let execution = execution.map(|row| row.execution);
        let activity = execution.as_ref().and_then(|_| run::running::activity_of(world, &row.task_id));
        runs.push(RunInfo {
            kind: if execution.is_some() { RunKind::Agent } else { RunKind::Script },
            project_id: task.as_ref().map(|task| task.project_id.clone()),
            task_number: task.as_ref().map(|task| task.number),
            task_title: task.as_ref().map(|task| task.title.clone()),
            task_id: task.map(|task| task.id),
            machine_id: row.machine_id,
            agent_id: execution.as_ref().map(|execution| execution.agent_id.clone()),
            execution_id: execution.map(|execution| execution.id),
            activity: activity
                .map(|(_, line)| line)
                .or_else(|| found.first().map(|process| process.command.clone()))
                .unwrap_or_default(),
            started_at: row.started_at,
            processes: tree(found),
            id: row.marker,
        });
    }
    runs.sort_by_key(|run| run.started_at);
    Ok(runs)
}

/// Processes with their parents before them, children in the order in which they were started.
fn tree(found: Vec<SeenProcess>) -> Vec<RunProcess> {
    let mut children: HashMap<Option<u32>, Vec<SeenProcess>> = HashMap::new();
    let numbers: Vec<u32> = found.iter().map(|process| process.pid).collect();
    for process in found {
        let parent = Some(process.parent).filter(|parent| numbers.contains(parent));
        children.entry(parent).or_default().push(process);
    }
    let mut ordered = Vec::new();
    let mut open: Vec<(Option<u32>, SeenProcess)> = Vec::new();
    let mut under = |parent: Option<u32>, open: &mut Vec<(Option<u32>, SeenProcess)>| {
        let found = children.remove(&parent).unwrap_or_default();
        open.extend(found.into_iter().rev().map(|process| (parent, process)));
    };
    under(None, &mut open);
    while let Some((parent, process)) = open.pop() {
        under(Some(process.pid), &mut open);
        ordered.push(RunProcess {
            pid: process.pid,
            parent,
            command: process.command,
            cpu_ms: process.cpu_ms,
            rss_bytes: process.rss_bytes,
            started_at: Timestamp(process.started_ms),
        });
    }
    ordered
}
