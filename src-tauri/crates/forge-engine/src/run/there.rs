//! Runs on another machine: what they are given there and what is brought home beside the worktree, and those that another
//! engine began.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use forge_agents::{AgentError, LogWriter, RunCommand, RunOutcome};
use forge_keeper::{Fault, Provided, ProvidedFile, ProvidedKind, Refusal, TransferError};
use forge_model::attachment::AttachedFile;
use forge_model::event::EventType;
use forge_model::ids::{ExecutionId, TaskId};
use forge_model::log::EntryKind;
use forge_model::sandbox::SandboxReport;
use forge_model::task::{WaitReason, Waiting};
use forge_model::workspace::Workspace;
use forge_store::table::tasks::TaskRow;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::{
    EngineError, World,
    core::{
        self,
        confinement::Confinement,
        context::task_folder,
        location::{Location, There},
        private_data,
    },
    error::Result,
    run::{
        attachments, end::end_run, events::Listening, kept, memo::KeptLaunch, plan, prepared::Prepared,
        running,
    },
};

/// The first pause before what a full disk keeps on a machine is fetched again, and the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(15);

/// How long an engine that ends waits for the machine of a run.
const LEAVES_AFTER: Duration = Duration::from_secs(10);

/// The folder on another machine, beside the copy of the worktree, of what people attached to the task.
const ATTACHMENTS: &str = "attachments";

/// How much of such files goes there in one message, in bytes; a larger file is a message of its own.
const MOST_AT_ONCE: usize = 8 * 1024 * 1024;

/// Returns when this engine ends and has waited long enough for the machine of a run. The run goes on there, and the
/// next engine finds it.
pub(super) async fn machine_left(world: &World, id: &ExecutionId) {
    let there = async {
        let row = world.store().read().await?.executions().get(id).await?;
        Ok::<bool, EngineError>(row.is_some_and(|row| row.execution.machine_id.is_some()))
    };
    world.inner.shutdown.cancelled().await;
    match there.await {
        Ok(true) => tokio::time::sleep(LEAVES_AFTER).await,
        _ => std::future::pending().await,
    }
}

/// What the machine has of a run that another engine began there; none when it has nothing. It is waited for, whoever
/// wants the run stopped: only the machine knows what became of it.
pub(super) async fn find_there(world: &World, p: &Prepared) -> Result<Option<KeptLaunch>> {
    let never = CancellationToken::new();
    let found = core::location::location_of(world, Some(&p.workspace), &never).await?;
    let Some(Location::There(there)) = found else { return Err(EngineError::MachineGivenUp) };
    let kept = there.runs(world, &never).await?.ok_or(EngineError::MachineGivenUp)?;
    Ok(kept::kept_launch(&kept, &p.row.execution.id))
}

/// Ends a run of which its machine has nothing: the machine was started anew, or the run never began. What it left in the
/// worktree is fetched. The run's control must be gone.
pub(super) async fn end_lost(
    world: &World,
    p: &Prepared,
    listening: Listening,
    cancel: &CancellationToken,
) -> Result<()> {
    let (holder, never) = (p.row.execution.id.as_str(), CancellationToken::new());
    let lock = core::worktree_lock::lock_workspace(world, &p.task.id, &p.workspace, holder, &never).await?;
    if !core::confinement::recover_left(world, &p.context, &p.workspace, &never).await? {
        return Err(EngineError::MachineGivenUp);
    }
    let cost = listening.over().await?.cost();
    drop(lock);
    let lost = RunOutcome::failed(AgentError::Lost);
    let end = || end_run(world, &p.row.execution, &p.task.id, (&lost, cost.clone()), cancel);
    core::disk::with_patience(world, end).await
}

/// Takes back the worktree that was lent to an ended run. Waits while the disk of its machine is full, because another
/// run would cost money again. Stopping the run ends the wait; the task's next step then takes the worktree back.
pub(super) async fn take_back(
    world: &World,
    p: &Prepared,
    confinement: &mut Confinement,
    log: &LogWriter,
    cancel: &CancellationToken,
) -> Result<Option<SandboxReport>> {
    let is_full = |task: &TaskRow| {
        task.waiting.as_ref().is_some_and(|waiting| waiting.reason == WaitReason::MachineDiskFull)
    };
    // An earlier engine may have been killed while it waited.
    let (mut waits, mut pause) = (is_full(&p.task), FIRST_PAUSE);
    let mut was_reported = false;
    let taken = loop {
        let (machine, path) = match confinement.end(world, log).await {
            Err(EngineError::Machine {
                name,
                error: TransferError::Refused(Refusal::Transfer(Fault::DiskFull { path })),
            }) => (name, path),
            ended => break ended,
        };
        if !std::mem::replace(&mut was_reported, true) {
            waits = true;
            let text = format!(
                "The disk of {machine} is full at `{path}`, which holds the agent's work. Free some space there."
            );
            log.append(EntryKind::Notice, "", json!({ "text": text, "code": "fetch_disk_full" }));
            let message = format!("waits for {machine}: the disk is full at `{path}`; free some space there");
            let waiting =
                Waiting { reason: WaitReason::MachineDiskFull, until: None, files: Vec::new(), message };
            say_waiting(world, &p.task.id, Some(waiting)).await?;
        }
        tokio::select! {
            () = cancel.cancelled() => break Ok(None),
            () = tokio::time::sleep(pause) => {}
        }
        pause = (pause * 2).min(LONGEST_PAUSE);
    };
    if waits {
        say_waiting(world, &p.task.id, None).await?;
    }
    taken
}

/// Writes on a task that it waits for space on its machine, or no longer does.
async fn say_waiting(world: &World, id: &TaskId, waiting: Option<Waiting>) -> Result<()> {
    let mut tx = world.store().write().await?;
    let Some(mut task) = tx.tasks().get(id).await? else { return Ok(()) };
    task.waiting = waiting;
    let facts = json!({ "waiting": task.waiting.as_ref().map(|waiting| waiting.reason) });
    tx.tasks_mut().update(&mut task, world.now()).await?;
    world.emit(&mut tx, EventType::TaskUpdated, &task, id.as_str(), &facts).await?;
    Ok(tx.commit().await?)
}

/// The folder with what people attached to the task, as the program finds it.
pub(super) fn given_folder(world: &World, p: &Prepared, location: &Location) -> PathBuf {
    let here = attachments::attachment_dir(world, &p.task.project_id, &p.task.id);
    match location {
        Location::Here => here,
        Location::There(there) => there.folder().join(ATTACHMENTS),
    }
}

/// A prompt with the paths of Forge's files as the program finds them.
pub(super) fn as_found(world: &World, p: &Prepared, location: &Location, prompt: String) -> String {
    let Location::There(there) = location else { return prompt };
    with_paths_there(there, &p.workspace, &given_folder(world, p, &Location::Here), prompt)
}

/// A text with the paths of Forge's files as they are on a machine.
fn with_paths_there(there: &There, workspace: &Workspace, given: &Path, text: String) -> String {
    let given = (given.to_owned(), there.folder().join(ATTACHMENTS));
    let around = (task_folder(workspace), there.folder().to_owned());
    [given, around]
        .into_iter()
        .fold(text, |text, (here, there)| text.replace(&*here.to_string_lossy(), &there.to_string_lossy()))
}

/// Something that is said to an agent while it runs.
pub(crate) struct SaidNow {
    /// By which name the run says that it was heard.
    pub id: String,
    pub text: String,
    /// The files that the text names.
    pub files: Vec<AttachedFile>,
}

/// Tells a run something. On another machine the files are there before the agent is told of them, by their paths there;
/// while the machine cannot be reached nothing is told. What is not told before the run ends goes into the next one.
pub(crate) fn say_now(
    world: &World,
    task: &TaskRow,
    execution: &ExecutionId,
    workspace: Option<Workspace>,
    said: SaidNow,
) {
    let on_machine = workspace.filter(|it| it.machine_id.is_some() && !said.files.is_empty());
    let SaidNow { id, text, files } = said;
    let Some(workspace) = on_machine else {
        running::tell_run(world, &task.id, execution, RunCommand::Say { id, text });
        return;
    };
    let given = attachments::attachment_dir(world, &task.project_id, &task.id);
    let (world, task, execution) = (world.clone(), task.id.clone(), execution.clone());
    core::guarded::in_background(&world.clone(), async move {
        match give_more_files(&world, &workspace, &given, &files).await {
            Ok(Some(there)) => {
                let text = with_paths_there(&there, &workspace, &given, text);
                running::tell_run(&world, &task, &execution, RunCommand::Say { id, text });
            }
            Ok(None) => {}
            Err(error) => {
                tracing::warn!(%task, %error, "failed to bring files to a machine; they go with the next run");
            }
        }
    });
}

/// Brings files to the machine where a run goes on; none when there is none any more.
async fn give_more_files(
    world: &World,
    workspace: &Workspace,
    here: &Path,
    files: &[AttachedFile],
) -> Result<Option<Box<There>>> {
    let cancel = world.inner.shutdown.child_token();
    let found = core::location::location_of(world, Some(workspace), &cancel).await?;
    let Some(Location::There(there)) = found else { return Ok(None) };
    let mut given = Vec::new();
    for file in files {
        let path = Path::new(&file.path);
        let Ok(name) = path.strip_prefix(here) else { continue };
        let content = tokio::fs::read(path).await.map_err(EngineError::io("read an attachment"))?;
        given.push((there.folder().join(ATTACHMENTS).join(name), content));
    }
    Ok(give(world, &there, given, &cancel).await?.then_some(there))
}

/// Writes files there, several in one message. False when the wait for the machine was stopped.
async fn give(
    world: &World,
    there: &There,
    files: Vec<(PathBuf, Vec<u8>)>,
    cancel: &CancellationToken,
) -> Result<bool> {
    let mut files = files.into_iter().peekable();
    while files.peek().is_some() {
        let (mut provided, mut bytes) = (Provided::default(), 0);
        while let Some((path, content)) =
            files.next_if(|(_, content)| bytes == 0 || bytes + content.len() <= MOST_AT_ONCE)
        {
            bytes += content.len();
            provided.files.push(ProvidedFile { path, content, kind: ProvidedKind::Replacing });
        }
        if there.provide(world, &provided, cancel).await?.is_none() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Writes the prompt where the program finds it, with whatever else it is given beside the worktree; none when the wait
/// for another machine was stopped.
pub(super) async fn give_files(
    world: &World,
    p: &Prepared,
    location: &Location,
    prompt: &str,
    cancel: &CancellationToken,
) -> Result<Option<PathBuf>> {
    let file = prompt_file_of(p);
    private_data::write(&file, prompt).await.map_err(EngineError::io("write the prompt"))?;
    let Location::There(there) = location else { return Ok(Some(file)) };
    let path = location.path(&p.workspace, &file);
    let mut files = vec![(path.clone(), prompt.as_bytes().to_vec())];
    if let Some(plan) = plan::read_plan(&p.workspace).await? {
        files.push((location.path(&p.workspace, &plan::plan_file(&p.workspace)), plan.into_bytes()));
    }
    let (here, given) = (given_folder(world, p, &Location::Here), given_folder(world, p, location));
    let attach = async {
        for name in attachments::files_of(&here).await? {
            files.push((given.join(&name), tokio::fs::read(here.join(&name)).await?));
        }
        Ok(())
    };
    attach.await.map_err(EngineError::io("read an attachment"))?;
    Ok(give(world, there, files, cancel).await?.then_some(path))
}

/// Brings the plan home that an agent wrote on another machine.
pub(super) async fn fetch_plan(world: &World, p: &Prepared, location: &Location) -> Result<()> {
    let Location::There(there) = location else { return Ok(()) };
    let path = location.path(&p.workspace, &plan::plan_file(&p.workspace));
    // Only a machine that is given up is not waited for.
    let plan = there.file(world, &path, plan::MAX_PLAN_BYTES_READ, &CancellationToken::new()).await?;
    let Some(plan) = plan.map(|plan| String::from_utf8_lossy(&plan).into_owned()) else { return Ok(()) };
    if plan::read_plan(&p.workspace).await?.as_ref() != Some(&plan) && !plan.trim().is_empty() {
        plan::write_plan(&p.workspace, &plan).await?;
    }
    Ok(())
}

/// The prompt of a run, in the task's folder.
pub(super) fn prompt_file_of(p: &Prepared) -> PathBuf {
    task_folder(&p.workspace).join(format!("prompt-{}.md", p.row.execution.id))
}
