//! Setting up a worktree: files are copied into it, and the project's set-up commands run.

use forge_agents::LogWriter;
use forge_git::Repo;
use forge_model::event::EventType;
use forge_model::task::{AnnotationType, Evidence, WaitReason};
use forge_model::workspace::Workspace;
use std::time::Duration;

use forge_agents::log::NewEntry;
use forge_exec::{Command, Exit, Finished, HeadTail, Marker};
use forge_git::{CopyMode, CopyRule, GitError};
use forge_model::log::{EntryKind, EntryStatus};
use forge_model::settings;
use forge_model::settings::SETUP_TIMEOUT_SECONDS;
use forge_model::words::counted;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::{
    EngineError, World,
    core::{
        self,
        block_reason::BlockReason,
        confinement::Subject,
        world::step::{End, Stepping},
    },
    error::{Result, whole},
    program::{self, output::CheckOutput},
    trust, workspace,
};

/// How much of each stream of a set-up command is shown when it fails.
const TAIL_BYTES: usize = 8192;

/// Brings the files that git does not keep.
pub(crate) async fn copy(
    world: &World,
    p: &Preparation<'_>,
    cancel: &CancellationToken,
) -> Result<Option<End>> {
    let rules: Vec<CopyRule> = p.s.context.settings.copy_files.iter().map(rule).collect();
    if rules.is_empty() {
        return Ok(None);
    }
    begin_phase(world, p, "copy files").await?;
    let progress = |now: forge_git::CopyProgress| {
        let text = format!("{}, now {}", copied_words(now.files, now.bytes), now.path);
        p.log.append(EntryKind::Notice, "copy", json!({ "text": text, "code": "copy" }));
    };
    let worktree = core::repository::worktree(world, &p.s.context, p.workspace).await?;
    let copied = worktree.copy_files(&rules, &progress, cancel).await;
    match copied {
        Ok(report) => {
            trust::accepted::keep_own_changes(world, &p.s.context, p.repo).await?;
            let text = copied_words(report.files, report.bytes);
            let body = json!({ "text": text, "code": "copy", "report": report });
            p.log.append(EntryKind::Notice, "copy", body);
            Ok(None)
        }
        Err(GitError::Cancelled { .. }) => Ok(Some(End::Interrupted)),
        Err(error) => {
            let escapes = matches!(error, GitError::PathEscape(_));
            let error = EngineError::Git(error);
            if core::disk::passes_with_storage(world, &error).await {
                return Err(error);
            }
            let reason = whole(&error);
            let reason = if escapes { format!("path_escape: {reason}") } else { reason };
            unusable(world, p, reason, None).await.map(Some)
        }
    }
}

/// Runs one set-up command. An end is given when it fails or is stopped.
pub(crate) async fn set_up(
    world: &World,
    p: &Preparation<'_>,
    index: usize,
    script: &str,
    cancel: &CancellationToken,
) -> Result<Option<End>> {
    let s = p.s;
    let Some(location) = core::location::location_of(world, Some(p.workspace), cancel).await? else {
        return Ok(Some(End::Interrupted));
    };
    let environment = core::environment::command_environment(world, &s.context, location.login()).await?;
    let subject = Subject::command_in(Some(p.workspace), &location, cancel);
    let confined = core::confinement::confine(world, &s.context, &environment, subject).await?;
    let Some(mut confinement) = confined else { return Ok(Some(End::Interrupted)) };
    let variables = program::given::task_env(world, &s.context, &s.task, Some(p.workspace));
    let command = Command::shell(
        environment.shell(),
        script,
        &location.worktree(p.workspace),
        Marker(format!("{}-{index}", p.log_id)),
    )
    .base(environment.base())
    .envs(location.variables(Some(p.workspace), variables))
    .timeout(Duration::from_secs(u64::from(SETUP_TIMEOUT_SECONDS)));
    let entry = |status, exit_code: Option<i32>| NewEntry {
        status: Some(status),
        ..NewEntry::new(
            EntryKind::Command,
            format!("setup-{index}"),
            json!({ "command": script, "exit_code": exit_code }),
        )
    };
    environment.note_withheld(p.log);
    confinement.begin_log(p.log);
    p.log.append_entry(entry(EntryStatus::Running, None));
    let mut output = CheckOutput { log: p.log.clone(), kept: HeadTail::new(TAIL_BYTES) };
    let finished = program::recorded::run_recorded(
        world,
        &s.task,
        &location,
        confinement.of(command),
        cancel,
        (&mut output, environment.redactor()),
    )
    .await;
    confinement.note_refusals(p.log);
    confinement.end(world, p.log).await?;
    let exit_code = match &finished {
        Ok(Finished { exit: Exit::Code(code), .. }) => Some(*code),
        _ => None,
    };
    let status = match &finished {
        Ok(finished) if finished.is_success() => EntryStatus::Completed,
        Ok(Finished { cancelled: true, .. }) => EntryStatus::Cancelled,
        _ => EntryStatus::Failed,
    };
    p.log.append_entry(entry(status, exit_code));
    let message = match finished {
        Ok(finished) if finished.is_success() => return Ok(None),
        Ok(finished) if finished.cancelled => return Ok(Some(End::Interrupted)),
        Ok(finished) if finished.timed_out => format!("setup command `{script}` timed out"),
        Ok(finished) => match finished.exit {
            Exit::Code(code) => format!("setup command `{script}` exited with {code}"),
            Exit::Signal(signal) => format!("setup command `{script}` was killed by signal {signal}"),
        },
        Err(error) => format!("could not run setup command `{script}`: {error}"),
    };
    let kept = output.kept.into_strings();
    let text = [kept.stdout.trim_end(), kept.stderr.trim_end()].join("\n").trim().to_owned();
    let evidence = p.evidence(Some(script.to_owned()), exit_code, text);
    unusable(world, p, message, Some(evidence)).await.map(Some)
}

fn rule(file: &settings::CopyFile) -> CopyRule {
    let mode = match file.mode {
        settings::CopyMode::Copy => CopyMode::Copy,
        settings::CopyMode::Hardlink => CopyMode::Hardlink,
        settings::CopyMode::Symlink => CopyMode::Symlink,
    };
    CopyRule { pattern: file.pattern.clone(), mode }
}

fn copied_words(files: u64, bytes: u64) -> String {
    format!("copied {}, {}", counted(files, "file", "files"), counted(bytes, "byte", "bytes"))
}

/// Says what is done now, in the log and on the step.
pub(crate) async fn begin_phase(world: &World, p: &Preparation<'_>, phase: &str) -> Result<()> {
    p.log.append(EntryKind::Notice, "", json!({ "text": phase, "code": "phase" }));
    let mut tx = world.store().write().await?;
    let current = tx.steps().next(&p.s.task.id).await?.filter(|step| step.id == p.s.step.id);
    if let Some(mut step) = current {
        step.log_id = Some(p.log_id.to_owned());
        step.reason = Some(phase.to_owned());
        tx.steps_mut().update(&step).await?;
        let facts = json!({ "step": "prepare_workspace", "phase": phase, "log_id": p.log_id });
        world.emit(&mut tx, EventType::TaskUpdated, &p.s.task, p.s.task.id.as_str(), &facts).await?;
    }
    tx.commit().await?;
    Ok(())
}

pub(crate) async fn not_made(world: &World, p: &Preparation<'_>, error: EngineError) -> Result<End> {
    if let EngineError::Git(GitError::IndexLocked { path, .. }) = &error {
        workspace::watch::watch_lock_file(world, &p.s.task.id, path);
        return Ok(End::wait(WaitReason::GitLocked, whole(&error)));
    }
    let changed = matches!(error, EngineError::Git(GitError::RepositoryChanged { .. }));
    if changed || core::disk::passes_with_storage(world, &error).await {
        return Err(error);
    }
    unusable(world, p, whole(&error), None).await
}

/// Records why a worktree cannot be made ready. It stays one that is being made: the next try goes on.
pub(crate) async fn unusable(
    world: &World,
    p: &Preparation<'_>,
    reason: String,
    evidence: Option<Evidence>,
) -> Result<End> {
    p.log.append(EntryKind::Notice, "", json!({ "text": reason, "code": "failed" }));
    let failed = Workspace { error: Some(reason.clone()), ..p.workspace.clone() };
    let mut tx = world.store().write().await?;
    tx.workspaces_mut().put(&failed, world.now()).await?;
    let facts = json!({ "reason": reason });
    world.emit(&mut tx, EventType::WorkspaceError, &p.s.task, failed.id.as_str(), &facts).await?;
    tx.commit().await?;
    let mut trouble = BlockReason::new(AnnotationType::EnvironmentNotReady, reason);
    trouble.evidence = evidence.or_else(|| Some(p.evidence(None, None, String::new())));
    Ok(End::Block(trouble))
}

/// One try at making a worktree ready.
pub(crate) struct Preparation<'a> {
    pub s: &'a Stepping,
    pub repo: &'a Repo,
    pub workspace: &'a Workspace,
    pub log: &'a LogWriter,
    pub log_id: &'a str,
}

impl Preparation<'_> {
    fn evidence(&self, command: Option<String>, exit_code: Option<i32>, output: String) -> Evidence {
        Evidence { command, exit_code, output, log_id: Some(self.log_id.to_owned()) }
    }
}
