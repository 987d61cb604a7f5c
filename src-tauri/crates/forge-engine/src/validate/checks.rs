//! The checks of a call, in order: files, their syntax, contracts, commands. All of them run, whatever fails; what
//! cannot be told from a text is reported as unknown.

use std::{path::Path, sync::Arc, time::Duration};

use forge_exec::{Command, Exit, Finished, HeadTail, Marker};
use forge_model::validate::{
    CheckResult, CommandCheck, ContractCheck, ContractOutcome, ContractPair, FileCheck, SyntaxCheck, inside,
};
use forge_source::{Folder, Language, Outcome, Syntax, contract, syntax, within};
use tokio_util::sync::CancellationToken;

use crate::{
    EngineError, World,
    core::{
        self,
        confinement::{Confinement, Subject},
        context::task_folder,
        environment::ProgramEnvironment,
        location::Location,
    },
    error::{Result, whole},
    hook::step::nobody,
    program::{self, diagnosing::Diagnosing},
    validate::call::Call,
};

/// How the marks of commands begin.
pub(super) const MARKER: &str = "validate-";
/// What runs commands.
const SHELL: [&str; 2] = ["/bin/sh", "-c"];
/// How much of each stream is kept: half of it from the beginning, half from the end.
const KEPT_BYTES: usize = 16 * 1024;
/// From the gentle signal to the kill of a command.
const GRACE: Duration = Duration::from_secs(2);

/// Makes the checks of a call; none when they were stopped.
pub(super) async fn make_checks(
    world: &World,
    call: &Call,
    cancel: &CancellationToken,
) -> Result<Option<Vec<CheckResult>>> {
    let mut results = tokio::select! {
        results = look_at_texts(world, call) => results?,
        () = cancel.cancelled() => return Ok(None),
    };
    let (environment, env) = (
        core::environment::validate_environment(world, call.at.context.as_deref()).await,
        command_env(world, call),
    );
    for (index, command) in call.input.commands.iter().enumerate() {
        let marker = format!("{MARKER}{}-{index}", call.id);
        match run_validation_command(world, call, command, marker, (&environment, &env), cancel).await {
            Some(result) => results.push(CheckResult::Command(result)),
            None => return Ok(None),
        }
    }
    Ok(Some(results))
}

/// Files, their form, and contracts.
async fn look_at_texts(world: &World, call: &Call) -> Result<Vec<CheckResult>> {
    let cwd = call.at.root();
    let root = Folder::new(cwd.to_owned());
    let root = Arc::new(root.map_err(EngineError::io(format!("read {}", cwd.display())))?);
    let limit = world.inner.config.source_check_limit;
    let mut results = Vec::new();
    let mut forms = Vec::new();
    for file in &call.input.files {
        let check = check_file(cwd, file, &call.at.moved(file)).await;
        if check.passed {
            forms.extend(check_form(&root, &call.at.cwd, file, limit).await);
        }
        results.push(CheckResult::FileCheck(check));
    }
    results.extend(forms.into_iter().map(CheckResult::SyntaxCheck));
    for pair in &call.input.contract_checks {
        results.push(CheckResult::ContractCheck(check_contract(&root, &call.at.cwd, pair, limit).await));
    }
    Ok(results)
}

/// What commands are told besides what they inherit.
fn command_env(world: &World, call: &Call) -> Vec<(String, String)> {
    match (&call.at.context, &call.at.task) {
        (Some(context), Some((task, workspace))) => {
            let known = program::given::task_env(world, context, task, Some(workspace));
            known.into_iter().map(|(name, value)| (name, call.at.moved(&value))).collect()
        }
        (Some(context), None) => program::given::project_env(context),
        (None, _) => Vec::new(),
    }
}

/// Confines a command of a project to the worktree that is checked, or else to the folder.
async fn confine(
    world: &World,
    call: &Call,
    environment: &ProgramEnvironment,
    cancel: &CancellationToken,
) -> Result<Option<Confinement>> {
    let Some(context) = &call.at.context else { return Ok(Some(Confinement::default())) };
    let task = call.at.task.as_ref().map(|(_, workspace)| workspace);
    let folder = call.at.worktree().unwrap_or_else(|| call.at.cwd.clone());
    let given = task.map(task_folder).into_iter().collect();
    let here = Subject::command_in(None, &Location::Here, cancel);
    let subject = Subject { folders: vec![folder], given, ..here };
    core::confinement::confine(world, context, environment, subject).await
}

/// Runs one command to its end; none when it was stopped.
async fn run_validation_command(
    world: &World,
    call: &Call,
    command: &str,
    marker: String,
    (environment, env): (&ProgramEnvironment, &[(String, String)]),
    cancel: &CancellationToken,
) -> Option<CommandCheck> {
    let blank = CommandCheck {
        passed: false,
        command: command.to_owned(),
        exit_code: None,
        signal: None,
        timed_out: false,
        stdout: String::new(),
        stderr: String::new(),
        duration_ms: 0,
        diagnoses: None,
    };
    let confinement = match confine(world, call, environment, cancel).await {
        Ok(Some(confinement)) => confinement,
        Ok(None) => return None,
        Err(error) => return Some(CommandCheck { stderr: whole(&error), ..blank }),
    };
    let process = Command::shell(&SHELL.map(str::to_owned), command, call.at.root(), Marker(marker))
        .base(environment.base())
        .envs(env.iter().cloned())
        .timeout(world.inner.config.validate_command_limit)
        .grace(GRACE);
    let owner = call.at.task_id().cloned().unwrap_or_else(nobody);
    let mut output = Diagnosing::new(HeadTail::new(KEPT_BYTES));
    let finished = program::recorded::run_recorded_for(
        world,
        &owner,
        &Location::Here,
        confinement.of(process),
        cancel,
        (&mut output, environment.redactor()),
    )
    .await;
    let (kept, diagnoses) = output.finish(call.at.root(), finished.as_ref().ok()).await;
    let said = kept.into_strings();
    let blank = CommandCheck { stdout: said.stdout, stderr: said.stderr, diagnoses, ..blank };
    match finished {
        Ok(Finished { cancelled: true, .. }) => None,
        Ok(finished) => {
            let (exit_code, signal) = match finished.exit {
                Exit::Code(code) => (Some(code), None),
                Exit::Signal(signal) => (None, Some(signal)),
            };
            Some(CommandCheck {
                passed: finished.is_success(),
                exit_code,
                signal,
                timed_out: finished.timed_out,
                duration_ms: u64::try_from(finished.duration.as_millis()).unwrap_or(u64::MAX),
                ..blank
            })
        }
        Err(error) => Some(CommandCheck { stderr: whole(&error), ..blank }),
    }
}

/// Whether a file exists.
async fn check_file(root: &Path, file: &str, moved: &str) -> FileCheck {
    let error = match tokio::fs::metadata(root.join(moved)).await {
        Ok(found) if found.is_file() => None,
        Ok(_) => Some("it is not a file".to_owned()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Some("it does not exist".to_owned()),
        Err(error) => Some(format!("could not read it: {error}")),
    };
    FileCheck { passed: error.is_none(), file: file.to_owned(), error }
}

/// Whether a file is well formed; none when its ending is no language that is known.
async fn check_form(root: &Arc<Folder>, cwd: &Path, file: &str, limit: Duration) -> Option<SyntaxCheck> {
    Language::of(file)?;
    let (folder, path) = (Arc::clone(root), inside(cwd.to_str(), file)?);
    let read = within(limit, move || {
        forge_source::Files::read(folder.as_ref(), &path).map(|bytes| syntax(&path, &bytes))
    });
    let sound =
        SyntaxCheck { passed: Some(true), file: file.to_owned(), error: None, line: None, column: None };
    // What is not read here may be as sound as anything else: it counts neither way.
    let not_checked = |why: &dyn std::fmt::Display| SyntaxCheck {
        passed: None,
        error: Some(format!("not checked: {why}")),
        ..sound.clone()
    };
    Some(match read.await {
        Ok(Ok(None)) => return None,
        Ok(Ok(Some(Syntax::Sound))) => sound,
        Ok(Ok(Some(Syntax::Broken(error)))) => {
            let (line, column) = (Some(error.line), Some(error.column));
            SyntaxCheck { passed: Some(false), error: Some(error.message), line, column, ..sound }
        }
        Ok(Ok(Some(Syntax::Refused { reason }))) => not_checked(&reason),
        Ok(Err(error)) if error.kind() == std::io::ErrorKind::FileTooLarge => not_checked(&error),
        Ok(Err(error)) => {
            SyntaxCheck { passed: Some(false), error: Some(format!("could not read it: {error}")), ..sound }
        }
        Err(gave_up) => not_checked(&gave_up),
    })
}

/// Whether one file exports what another imports from it.
async fn check_contract(
    root: &Arc<Folder>,
    cwd: &Path,
    pair: &ContractPair,
    limit: Duration,
) -> ContractCheck {
    let path = |named: &str| inside(cwd.to_str(), named).unwrap_or_else(|| named.to_owned());
    let (exporter, importer) = (path(&pair.exporter), path(&pair.importer));
    let folder = Arc::clone(root);
    let judged = within(limit, move || contract(folder.as_ref(), &exporter, &importer)).await;
    let unknown = ContractCheck {
        passed: None,
        exporter: pair.exporter.clone(),
        importer: pair.importer.clone(),
        result: ContractOutcome::Unknown,
        exported: Vec::new(),
        imported: Vec::new(),
        missing: Vec::new(),
        reason: None,
    };
    match judged {
        Err(gave_up) => ContractCheck { reason: Some(format!("result unknown: {gave_up}")), ..unknown },
        Ok(found) => {
            let (passed, result) = match found.result {
                Outcome::Pass => (Some(true), ContractOutcome::Pass),
                Outcome::Fail => (Some(false), ContractOutcome::Fail),
                Outcome::Unknown => (None, ContractOutcome::Unknown),
            };
            ContractCheck {
                passed,
                result,
                exported: found.exported,
                imported: found.imported,
                missing: found.missing,
                reason: found.reason,
                ..unknown
            }
        }
    }
}
