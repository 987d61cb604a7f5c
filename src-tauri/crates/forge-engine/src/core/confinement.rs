//! The sandbox of programs that Forge starts for a task: which paths it opens, and what becomes of the worktree's git
//! directory meanwhile.
//!
//! A confined program writes in the worktree, but not in the repository, where the worktree's git directory lies. So
//! that it can commit all the same, it is lent a git directory of its own (`lending`), and what it did there is taken
//! back, checked, when the last program is done.
//!
//! Invariant: whoever begins a confinement ends it; what a panic or a kill leaves open is taken back before the
//! task's next step, and at the next start.

mod caches;
mod lending;

use std::{
    ffi::OsStr,
    path::{Path, PathBuf},
};

use forge_agents::{Confinable, LogWriter, ProgramState, adapter};
use forge_exec::{Command, Sandbox};
use forge_git::Lending;
use forge_keeper::{ProvidedFile, ProvidedKind};
use forge_model::agent::{Agent, Profile};
use forge_model::environment::Variables;
use forge_model::log::EntryKind;
use forge_model::sandbox::{SandboxMode, SandboxReport, SandboxState};
use forge_model::words::counted;
use forge_model::workspace::Workspace;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::{
    EngineError, World,
    core::{
        self,
        context::{ProjectContext, task_folder},
        environment::ProgramEnvironment,
        location::{Location, There},
    },
    error::Result,
};

use caches::Caches;

pub(crate) use lending::{forget_kept, forget_transfers, recover, recover_left, take_back_unfetched};

/// What is to be confined.
pub(crate) struct Subject<'a> {
    /// The worktree of the task that it works on, if it works in one.
    pub workspace: Option<&'a Workspace>,
    /// The agent whose program it is.
    pub agent: Option<&'a Agent>,
    /// Other folders that it works in.
    pub folders: Vec<PathBuf>,
    /// What it reads of Forge's data.
    pub given: Vec<PathBuf>,
    /// Where it runs.
    pub location: &'a Location,
    /// Ends the wait for another machine.
    pub cancel: &'a CancellationToken,
}

impl<'a> Subject<'a> {
    /// A command that runs in a task's worktree.
    pub(crate) const fn command_in(
        workspace: Option<&'a Workspace>,
        location: &'a Location,
        cancel: &'a CancellationToken,
    ) -> Self {
        Self { workspace, agent: None, folders: Vec::new(), given: Vec::new(), location, cancel }
    }
}

/// How one program is confined. Ended by [`Confinement::end`].
#[derive(Debug, Default)]
#[must_use = "a git directory that was lent is to be taken back"]
pub(crate) struct Confinement {
    report: Option<SandboxReport>,
    sandbox: Option<Sandbox>,
    lent: Option<lending::Held>,
}

impl Confinement {
    /// What its program may touch; none where it is not confined.
    pub(crate) fn sandbox(&self) -> Option<Sandbox> {
        self.sandbox.clone()
    }

    /// What is to be told of it, as far as it is known.
    pub(crate) const fn report(&self) -> Option<&SandboxReport> {
        self.report.as_ref()
    }

    /// The command, confined.
    pub(crate) fn of(&self, mut command: Command) -> Command {
        command.sandbox.clone_from(&self.sandbox);
        command
    }

    /// Has a log read the refusals, and tells it where nothing is confined although it should be.
    pub(crate) fn begin_log(&self, log: &LogWriter) {
        let Some(report) = &self.report else { return };
        let text = match report.state {
            SandboxState::Enforced => None,
            SandboxState::FilesOnly => {
                Some("This kernel cannot confine the network: files alone are confined.")
            }
            SandboxState::Own => Some("The agent program confines its commands by itself."),
            SandboxState::Missing => Some("This kernel has no Landlock: the program is not confined."),
        };
        if let Some(text) = text {
            log.append(
                EntryKind::Notice,
                "",
                json!({ "text": text, "code": "sandbox", "state": report.state }),
            );
        }
        if self.sandbox.is_some() {
            log.read_refusals();
        }
    }

    /// Tells a log what was refused; done before the log is closed.
    pub(crate) fn note_refusals(&mut self, log: &LogWriter) {
        let Some(report) = self.report.as_mut().filter(|_| self.sandbox.is_some()) else { return };
        let refusals = log.refusals();
        (report.refused, report.paths) = (refusals.count, refusals.paths);
        if report.refused > 0 {
            let body =
                json!({ "text": refused_words(report), "code": "sandbox_refused", "paths": report.paths });
            log.append(EntryKind::Notice, "", body);
        }
    }

    /// Takes back what was lent, once nothing of the program runs, and tells a log what was not taken as it was.
    /// Repeated after an error, it goes on where it was.
    pub(crate) async fn end(&mut self, world: &World, log: &LogWriter) -> Result<Option<SandboxReport>> {
        if let Some(lent) = &self.lent {
            let back = core::disk::with_patience(world, || lent.take_back(world)).await?;
            self.lent = None;
            if let Some(text) = words_of(&back) {
                log.append(EntryKind::Notice, "", json!({ "text": text, "code": "sandbox_kept" }));
            }
            if let Some(report) = &mut self.report {
                report.kept_refs = back.taken.kept_refs;
            }
        }
        Ok(self.report.take())
    }
}

/// Confines a program as its project and agent say. In a worktree, its git directory is lent, unless the caller goes
/// on with a program that has it already; to another machine the worktree is sent. None when that was stopped first.
pub(crate) async fn confine(
    world: &World,
    context: &ProjectContext,
    environment: &ProgramEnvironment,
    subject: Subject<'_>,
) -> Result<Option<Confinement>> {
    begin(world, context, environment, subject, false).await
}

/// The same for a program that another engine started.
pub(crate) async fn confine_again(
    world: &World,
    context: &ProjectContext,
    environment: &ProgramEnvironment,
    subject: Subject<'_>,
) -> Result<Option<Confinement>> {
    begin(world, context, environment, subject, true).await
}

async fn begin(
    world: &World,
    context: &ProjectContext,
    environment: &ProgramEnvironment,
    subject: Subject<'_>,
    goes_on: bool,
) -> Result<Option<Confinement>> {
    let settings = &context.settings.sandbox;
    let own = subject.agent.and_then(|agent| Profile::of(agent).sandbox);
    let mode = own.unwrap_or(settings.mode);
    let (location, cancel) = (subject.location, subject.cancel);
    let variables = variables_of(environment, subject.agent);
    let confinable = subject.agent.map(|agent| adapter(agent.adapter).confinable(&agent.config, &variables));
    let support = location.sandbox_support();
    let state = match &confinable {
        Some(Confinable::Own) => SandboxState::Own,
        _ if !support.files => SandboxState::Missing,
        _ if mode == SandboxMode::FilesAndNetwork && !support.network => SandboxState::FilesOnly,
        _ => SandboxState::Enforced,
    };
    let report = (mode != SandboxMode::Off).then(|| SandboxReport::begun(mode, state));
    let is_confined =
        mode != SandboxMode::Off && matches!(state, SandboxState::Enforced | SandboxState::FilesOnly);
    // What runs on another machine has what is lent sent there, confined or not.
    let lends = is_confined || matches!(location, Location::There(_));
    let workspace = subject.workspace.filter(|it| lends && Path::new(&it.path).is_dir());
    let mut lent = None;
    if let Some(workspace) = workspace {
        let worktree = core::repository::worktree(world, context, workspace).await?;
        let who = lending::Borrower { worktree: &worktree, workspace, location, goes_on };
        lent = lending::lend(world, who, cancel).await?;
        if lent.is_none() {
            return Ok(None);
        }
    }
    if !is_confined {
        let lent = lent.map(|(held, _)| held);
        return Ok(Some(Confinement { report, lent, ..Confinement::default() }));
    }
    let home = variables.get(OsStr::new("HOME")).map(PathBuf::from).filter(|home| home.is_absolute());
    let expand = |path: &String| expanded(path, home.as_deref());
    let state = match confinable {
        Some(Confinable::Whole(state)) => state,
        Some(Confinable::Own) | None => ProgramState::default(),
    };
    let mut open = match location {
        Location::Here => opened_here(world, context, &subject, state, &variables, lent.as_ref()).await?,
        Location::There(there) => match opened_there(world, there, &subject, &state, &variables).await? {
            Some(open) => open,
            None => return Ok(None),
        },
    };
    open.writable.extend(settings.write.iter().filter_map(expand));
    open.hidden.extend(settings.hide.iter().filter_map(expand));
    // What lies where everything may be written cannot be hidden: data in a folder for temporary files.
    let Sandbox { writable, hidden, .. } = &mut open;
    hidden.retain(|path| !writable.iter().any(|open| lies_in(path, open)));
    open.tcp = (mode == SandboxMode::FilesAndNetwork && support.network).then(|| settings.ports.clone());
    Ok(Some(Confinement { report, sandbox: Some(open), lent: lent.map(|(held, _)| held) }))
}

/// What a program on this computer may write and read.
async fn opened_here(
    world: &World,
    context: &ProjectContext,
    subject: &Subject<'_>,
    state: ProgramState,
    variables: &Variables,
    lent: Option<&(lending::Held, Lending)>,
) -> Result<Sandbox> {
    let mut writable = subject.folders.clone();
    writable.extend(caches::temporary(variables));
    writable.extend(Caches::of(variables).make_here(variables));
    let made = tokio::task::spawn_blocking(move || state.make()).await;
    let made = made.map_err(std::io::Error::other).flatten();
    writable.extend(made.map_err(EngineError::io("make the folders that the agent program writes to"))?);
    let mut readable = subject.given.clone();
    readable.push(PathBuf::from(&context.project.repo_path));
    if let (Some(workspace), Some((held, lending))) = (subject.workspace, lent) {
        writable.push(PathBuf::from(&workspace.path));
        readable.push(task_folder(workspace));
        readable.push(held.worktree().repo().common_dir().to_owned());
        match lending {
            Lending::Lent { writable: more, readable: read } => {
                writable.extend(more.iter().cloned());
                readable.extend(read.iter().cloned());
            }
            Lending::Direct { writable: more, .. } => writable.extend(more.iter().cloned()),
        }
    } else if let Some(repo) = core::repository::present_repo(world, context).await? {
        readable.push(repo.common_dir().to_owned());
    }
    let hidden = vec![world.data_dir().to_owned()];
    Ok(Sandbox { writable, readable, hidden, tcp: None })
}

/// What a program on another machine may write and read; none when the wait for the machine was stopped.
async fn opened_there(
    world: &World,
    there: &There,
    subject: &Subject<'_>,
    state: &ProgramState,
    variables: &Variables,
) -> Result<Option<Sandbox>> {
    let caches = Caches::of(variables);
    let mut provided = caches.provided();
    provided.folders.extend(state.folders().iter().cloned());
    provided.files.extend(state.files().iter().map(|(path, content)| ProvidedFile {
        path: path.clone(),
        content: content.as_bytes().to_vec(),
        kind: ProvidedKind::WhenMissing,
    }));
    if there.provide(world, &provided, subject.cancel).await?.is_none() {
        return Ok(None);
    }
    let mut writable = vec![there.worktree()];
    writable.extend(caches::temporary(variables));
    writable.extend(caches.paths());
    writable.extend(provided.folders);
    writable.extend(state.files().iter().map(|(path, _)| path.clone()));
    Ok(Some(Sandbox { writable, readable: there.readable(), hidden: there.hidden(), tcp: None }))
}

/// What is to be known of what a program did in its git directory; none where all of it was taken.
fn words_of(back: &lending::Back) -> Option<String> {
    let lending::Back { taken, left_there, backup } = back;
    let mut sentences = Vec::new();
    if !left_there.is_empty() {
        sentences.push(format!("Left on the machine: {}.", left_there.join(", ")));
    }
    if let Some(backup) = backup {
        sentences.push(format!("Files that were changed here meanwhile are kept as {backup}."));
    }
    if !taken.kept_refs.is_empty() {
        sentences.push(format!(
            "Changes to refs that are not the task's own are kept as {}.",
            taken.kept_refs.join(", ")
        ));
    }
    if !taken.left_out.is_empty() {
        let parts: Vec<String> = taken.left_out.iter().map(ToString::to_string).collect();
        sentences.push(format!("Not taken into the repository: {}.", parts.join(", ")));
    }
    if let Some(folder) = &taken.rescue {
        sentences.push(format!("The program's git directory is kept in {}.", folder.display()));
    }
    (!sentences.is_empty()).then(|| sentences.join(" "))
}

fn refused_words(report: &SandboxReport) -> String {
    let count = counted(u64::from(report.refused), "read or write", "reads or writes");
    let was = if report.refused == 1 { "was" } else { "were" };
    let more = if report.paths.is_empty() { String::new() } else { format!(": {}", report.paths.join(", ")) };
    format!("The sandbox: {count} {was} refused{more}.")
}

/// The environment that the program gets: an agent's own variables win.
fn variables_of(environment: &ProgramEnvironment, agent: Option<&Agent>) -> Variables {
    let mut variables = (*environment.base()).clone();
    let own = agent.and_then(|agent| agent.config.get("env")?.as_object());
    let own =
        own.into_iter().flatten().filter_map(|(name, value)| Some((name.into(), value.as_str()?.into())));
    variables.extend(own);
    variables
}

/// Whether a path is, or lies in, a folder, wherever links lead.
fn lies_in(path: &Path, folder: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    real(path).starts_with(real(folder))
}

/// A path of the settings; none when it is in a home folder that nobody has.
fn expanded(path: &str, home: Option<&Path>) -> Option<PathBuf> {
    match path.strip_prefix("~/") {
        Some(rest) => home.map(|home| home.join(rest)),
        None => Some(PathBuf::from(path)),
    }
}

/// What a variable names by an absolute path.
fn folder_in(variables: &Variables, name: &str) -> Option<PathBuf> {
    variables.get(OsStr::new(name)).map(PathBuf::from).filter(|path| path.is_absolute())
}
