//! Where a call takes place: the checked folder, and the project that keeps its attempts.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use forge_git::{Repo, guard};
use forge_model::diff::SeenThere;
use forge_model::ids::{ProjectId, TaskId};
use forge_model::validate::{ValidateInput, findings_of_id, findings_of_run, inside};
use forge_model::workspace::{Workspace, WorkspaceStatus};
use forge_store::table::tasks::TaskRow;

use crate::{
    EngineError, World,
    core::{
        self,
        context::ProjectContext,
        live::{Checking, Freshness},
    },
    error::Result,
};

/// Whose attempts are meant.
#[derive(Debug, Clone, Default)]
pub struct WhichProject {
    /// The project's.
    pub id: Option<ProjectId>,
    /// Else those of the project whose repository or worktree has this folder; the program's own when absent.
    pub cwd: Option<String>,
}

/// Where checks are made.
pub(crate) struct Validated {
    /// The folder, as it was named.
    pub(crate) cwd: PathBuf,
    /// Why it is no folder.
    pub(crate) missing: Option<String>,
    /// The project that keeps the attempts; none only when the folder is missing.
    pub(crate) context: Option<Arc<ProjectContext>>,
    /// The task whose worktree it is, or is in.
    pub(crate) task: Option<(TaskRow, Workspace)>,
    /// What programs on another machine made of the worktree.
    there: Option<CheckedThere>,
}

/// What is checked in place of a worktree in which programs on another machine work.
struct CheckedThere {
    /// The folder that is like the one that was named.
    folder: Option<PathBuf>,
    /// What is to be said of it.
    told: SeenThere,
    /// Keeps the folder there, as it is.
    _checking: Option<Checking>,
}

impl Validated {
    /// Where the files are that are checked, and where commands run.
    pub(crate) fn root(&self) -> &Path {
        self.there.as_ref().and_then(|there| there.folder.as_deref()).unwrap_or(&self.cwd)
    }

    /// The worktree in which commands run, or what stands for it.
    pub(crate) fn worktree(&self) -> Option<PathBuf> {
        let (_, workspace) = self.task.as_ref()?;
        let root = self.root();
        // As deep in the copy as the named folder is in the worktree.
        let depth = real(&self.cwd).strip_prefix(real(Path::new(&workspace.path))).ok()?.components().count();
        match &self.there {
            Some(CheckedThere { folder: Some(_), .. }) => root.ancestors().nth(depth).map(Path::to_owned),
            _ => Some(PathBuf::from(&workspace.path)),
        }
    }

    /// A path as it is where the checks are made.
    pub(crate) fn moved(&self, path: &str) -> String {
        let moved = self.task.as_ref().zip(self.worktree()).and_then(|((_, workspace), worktree)| {
            let rest = Path::new(path).strip_prefix(&workspace.path).ok()?;
            Some(worktree.join(rest).components().collect::<PathBuf>().to_string_lossy().into_owned())
        });
        moved.unwrap_or_else(|| path.to_owned())
    }

    /// What is to be known of the files that were checked, where they are not as they are now.
    pub(crate) fn notice(&self) -> Option<String> {
        let SeenThere { machine, at, error, .. } = &self.there.as_ref()?.told;
        let error = error.as_ref()?;
        Some(format!("these are the files as they were on {machine} at {at}: {error}"))
    }

    /// Whether a copy is checked.
    fn is_copy(&self) -> bool {
        self.there.as_ref().is_some_and(|there| there.folder.is_some())
    }
    /// The task whose worktree it is, or is in.
    pub(crate) fn task_id(&self) -> Option<&TaskId> {
        self.task.as_ref().map(|(task, _)| &task.id)
    }
}

/// Refuses names that are none.
pub(super) fn check_ids(module: Option<&str>, run: Option<&str>) -> Result<()> {
    let module = module.and_then(|id| findings_of_id("moduleId", id));
    let run = run.and_then(|id| findings_of_run("runId", id));
    let findings: Vec<_> = module.into_iter().chain(run).collect();
    if findings.is_empty() { Ok(()) } else { Err(EngineError::Invalid(findings)) }
}

/// Where a call takes place and what it checks, once nothing is wrong with either.
pub(crate) async fn validated_at(
    world: &World,
    mut input: ValidateInput,
) -> Result<(Validated, ValidateInput)> {
    let asked = match &input.project_id {
        Some(id) => Some(core::contexts::context(world, &mut *world.store().read().await?, id).await?),
        None => None,
    };
    let own = || world.inner.config.cwd.as_ref().map(|cwd| cwd.to_string_lossy().into_owned());
    // Where this program runs says nothing about a project that was named.
    let root = || asked.as_ref().map(|context| context.project.repo_path.clone());
    let named = input.cwd.take().or_else(root).or_else(own).ok_or_else(|| {
        EngineError::invalid("cwd", "is required: this program has no current folder to check")
    })?;
    input.cwd = Some(named.clone());
    let findings = input.findings();
    if !findings.is_empty() {
        return Err(EngineError::Invalid(findings));
    }
    let cwd = PathBuf::from(&named);
    let missing = match tokio::fs::metadata(&cwd).await {
        Ok(found) if found.is_dir() => None,
        Ok(_) => Some("it is not a folder".to_owned()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Some("the folder does not exist".to_owned())
        }
        Err(error) => Some(format!("could not read it: {error}")),
    };
    let (found, task) = holder_of_folder(world, &cwd).await?;
    let context = match (asked, found) {
        (Some(asked), _) => Some(asked),
        (None, Some(id)) => {
            Some(core::contexts::context(world, &mut *world.store().read().await?, &id).await?)
        }
        (None, None) if missing.is_some() => None,
        (None, None) => return Err(no_project(&named)),
    };
    if missing.is_none() {
        refuse_links_out(&cwd, &input)?;
    }
    let of_project = |row: &TaskRow| context.as_ref().is_some_and(|it| it.project.id == row.project_id);
    let task = task.filter(|(row, _)| of_project(row));
    let there = match (&context, &task) {
        (Some(context), Some((_, workspace))) if missing.is_none() => {
            standing_there(world, context, workspace, &cwd).await?
        }
        _ => None,
    };
    let at = Validated { cwd, missing, context, task, there };
    if at.is_copy() {
        refuse_links_out(at.root(), &input)?;
    }
    Ok((at, input))
}

/// What is checked in place of a folder of a worktree in which programs on another machine work.
async fn standing_there(
    world: &World,
    context: &Arc<ProjectContext>,
    workspace: &Workspace,
    cwd: &Path,
) -> Result<Option<CheckedThere>> {
    let Some(seen) = core::live::seen(world, context, workspace, Freshness::Now).await? else {
        return Ok(None);
    };
    let inside = real(cwd).strip_prefix(real(Path::new(&workspace.path))).map(Path::to_owned);
    let folder = seen.repo().zip(inside.ok()).map(|(repo, inside)| repo.root().join(inside));
    let told = seen.told.clone();
    Ok(Some(CheckedThere { folder, told, _checking: seen.for_checks() }))
}

/// The project that is meant.
pub(super) async fn project_at(world: &World, which: &WhichProject) -> Result<Arc<ProjectContext>> {
    let id = match (&which.id, &which.cwd) {
        (Some(id), _) => id.clone(),
        (None, cwd) => {
            let own = || world.inner.config.cwd.clone();
            let cwd = cwd.as_ref().map(PathBuf::from).or_else(own);
            let cwd = cwd.ok_or_else(|| EngineError::invalid("project_id", "is required"))?;
            let (found, _) = holder_of_folder(world, &cwd).await?;
            found.ok_or_else(|| no_project(&cwd.to_string_lossy()))?
        }
    };
    core::contexts::context(world, &mut *world.store().read().await?, &id).await
}

/// The project whose repository or worktree has a folder, and the task whose worktree that is.
async fn holder_of_folder(
    world: &World,
    folder: &Path,
) -> Result<(Option<ProjectId>, Option<(TaskRow, Workspace)>)> {
    let folder = real(folder);
    let (spaces, projects) = {
        let mut conn = world.store().read().await?;
        (conn.workspaces().present().await?, conn.projects().list().await?)
    };
    let spaces = spaces.into_iter().filter(|space| space.status != WorkspaceStatus::Cleaned);
    // The innermost one is meant: repositories and worktrees may lie in each other.
    let space = spaces
        .filter_map(|space| Some((depth(&folder, &space.path)?, space)))
        .max_by_key(|(depth, _)| *depth);
    let project = projects
        .iter()
        .filter_map(|row| Some((depth(&folder, &row.project.repo_path)?, row.project.id.clone())))
        .max_by_key(|(depth, _)| *depth);
    if let Some((deep, space)) = space
        && project.as_ref().is_none_or(|(other, _)| *other < deep)
        && let Some(task) = world.store().read().await?.tasks().get(&space.task_id).await?
    {
        return Ok((Some(task.project_id.clone()), Some((task, space))));
    }
    if let Some((_, id)) = project {
        return Ok((Some(id), None));
    }
    // A worktree that somebody else made of a project's repository.
    let Ok(there) = Repo::open(world.git(), &folder).await else { return Ok((None, None)) };
    for row in projects {
        let context =
            core::contexts::context(world, &mut *world.store().read().await?, &row.project.id).await?;
        match core::repository::repo(world, &context).await {
            Ok(own) if own.common_dir() == there.common_dir() => return Ok((Some(row.project.id), None)),
            Ok(_) => {}
            Err(error) => {
                tracing::debug!(project = %row.project.id, %error, "its repository cannot be read");
            }
        }
    }
    Ok((None, None))
}

fn no_project(cwd: &str) -> EngineError {
    let message = format!("no project contains the folder {cwd}: choose a project, or add the repository");
    EngineError::invalid("project_id", message)
}

/// The path without links, as far as it exists.
fn real(path: &Path) -> PathBuf {
    std::fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

/// How deep a place lies that has the folder; none when it has not.
fn depth(folder: &Path, place: &str) -> Option<usize> {
    let place = real(Path::new(place));
    folder.starts_with(&place).then(|| place.components().count())
}

/// Whether links lead to each other in a ring, and so to no file at all.
fn is_ring(path: &Path) -> bool {
    let error = std::fs::metadata(path).err().and_then(|error| error.raw_os_error());
    error == Some(nix::errno::Errno::ELOOP as i32)
}

/// Refuses files that lead out of the folder through a link.
fn refuse_links_out(cwd: &Path, input: &ValidateInput) -> Result<()> {
    let files = input.files.iter().enumerate().map(|(index, path)| (format!("files[{index}]"), path));
    let contracts = input.contract_checks.iter().enumerate().flat_map(|(index, pair)| {
        let at = |field: &str| format!("contractChecks[{index}].{field}");
        [(at("exporter"), &pair.exporter), (at("importer"), &pair.importer)]
    });
    for (field, path) in files.chain(contracts) {
        let Some(path) = inside(cwd.to_str(), path) else { continue };
        match guard::resolve_inside(cwd, Path::new(&path)) {
            Err(source @ guard::GuardError::Escape { .. }) if !is_ring(&cwd.join(&path)) => {
                return Err(EngineError::Escape { field, source });
            }
            // What cannot be read is what its check will say.
            Ok(_) | Err(guard::GuardError::Escape { .. } | guard::GuardError::Io { .. }) => {}
        }
    }
    Ok(())
}
