//! Whether the startup files that a program would start with have contents that a person trusted.
//!
//! Asked before any program of a repository starts. A start sees the tip of the task's branch, the files in its
//! worktree, and Forge's own files on the default branch, whose commands are active for every task. Each content has
//! to be accepted; contents that equal accepted ones ask nothing, whichever branch has them.

pub(crate) mod accepted;
pub(crate) mod contribution;

use std::collections::BTreeSet;

use forge_git::{GitError, Repo, StartupFile, Worktree, changed_lines};
use forge_model::ids::TaskId;
use forge_model::trust::{Judged, OWN_FILES, TrustFile, TrustState, TrustedContent, judge};
use forge_model::workspace::Workspace;
use forge_store::table::{tasks::TaskRow, trust::TrustRow};
use sha2::{Digest as _, Sha256};

use crate::{
    EngineError, World,
    core::{
        self,
        context::{ProjectContext, task_branch},
    },
    error::{Result, Untrusted},
};

/// How much of a file's text is shown, and of all of them together.
const SHOWN_OF_ONE: usize = 64 * 1024;
const SHOWN_OF_ALL: usize = 512 * 1024;

/// What a program is about to start with.
#[derive(Debug, Clone, Default)]
pub(crate) struct Start {
    /// The commits whose startup files it sees: the task's first, else those that tasks start on.
    pub commits: Vec<String>,
    /// The worktree that it runs in.
    pub worktree: Option<Worktree>,
    /// Where the task's branch began.
    pub base: Option<String>,
    /// The commit of the default branch, for Forge's own files.
    pub default_commit: Option<String>,
    /// The task.
    pub task: Option<TaskId>,
}

/// A startup file and where it was found.
#[derive(Debug, Clone)]
pub(crate) struct Placed {
    pub file: StartupFile,
    pub commit: Option<String>,
    pub task: Option<TaskId>,
}

/// A start, compared with what was accepted.
#[derive(Debug, Default)]
pub(crate) struct Judgement {
    pub found: Vec<Placed>,
    pub judged: Vec<Judged>,
    /// What is accepted, what was accepted last first.
    pub accepted: Vec<TrustRow>,
}

impl Judgement {
    /// What a person has not accepted.
    pub(crate) fn open(&self) -> impl Iterator<Item = &Judged> {
        self.judged.iter().filter(|it| it.state != TrustState::Accepted)
    }

    pub(crate) fn is_trusted(&self) -> bool {
        self.open().next().is_none()
    }

    /// Names what is not accepted.
    pub(crate) fn digest(&self) -> String {
        let mut hash = Sha256::new();
        for it in self.open() {
            hash.update(it.path.as_bytes());
            hash.update([0]);
            hash.update(it.sha256.as_deref().unwrap_or_default().as_bytes());
            hash.update([0]);
        }
        hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Adds another start.
    pub(crate) fn add(&mut self, other: Judgement) {
        self.found.extend(other.found);
        self.judged.extend(other.judged);
        self.judged.sort_by(|a, b| (&a.path, &a.sha256).cmp(&(&b.path, &b.sha256)));
        self.judged.dedup();
    }

    /// The file that was judged.
    pub(crate) fn placed(&self, it: &Judged) -> Option<&Placed> {
        let sha256 = it.sha256.as_ref()?;
        self.found.iter().find(|placed| placed.file.path == it.path && placed.file.sha256 == *sha256)
    }

    /// The files as people see them.
    pub(crate) fn shown<'a>(&'a self, judged: impl Iterator<Item = &'a Judged>) -> Vec<TrustFile> {
        let mut left = SHOWN_OF_ALL;
        judged.map(|it| self.show(it, &mut left)).collect()
    }

    fn show(&self, it: &Judged, left: &mut usize) -> TrustFile {
        let placed = self.placed(it);
        let content = placed.map(|placed| placed.file.content.as_slice()).unwrap_or_default();
        let before = || {
            let known = self.accepted.iter().filter(|row| row.path == it.path);
            known.filter_map(|row| row.content.as_deref()).next()
        };
        let diff = match it.state {
            TrustState::Changed | TrustState::Removed => {
                before().map(|before| changed_lines(before, content)).unwrap_or_default()
            }
            TrustState::New | TrustState::Accepted => String::new(),
        };
        let text = std::str::from_utf8(content).ok().filter(|_| it.sha256.is_some());
        let room = (*left).min(SHOWN_OF_ONE);
        let shown = text.map(|text| text.get(..text.floor_char_boundary(room)).unwrap_or_default());
        *left -= shown.map_or(0, str::len);
        TrustFile {
            path: it.path.clone(),
            sha256: it.sha256.clone(),
            accepted: it.state == TrustState::Accepted,
            state: it.state,
            commit: placed.and_then(|placed| placed.commit.clone()),
            task_id: placed.and_then(|placed| placed.task.clone()),
            size: content.len() as u64,
            cut: shown.zip(text).is_some_and(|(shown, text)| shown.len() < text.len()),
            content: shown.map(str::to_owned),
            diff,
        }
    }
}

/// Refuses to start a program with files that a person has not trusted.
pub(crate) async fn require_trust(
    world: &World,
    context: &ProjectContext,
    repo: &Repo,
    start: &Start,
) -> Result<()> {
    let judgement = judge_start(world, context, repo, start).await?;
    if judgement.is_trusted() {
        return Ok(());
    }
    let files = judgement.shown(judgement.open());
    Err(EngineError::TrustRequired(Box::new(Untrusted { digest: judgement.digest(), files })))
}

/// The same for a program of a task, in its worktree once that is made.
pub(crate) async fn require_trust_of(
    world: &World,
    context: &ProjectContext,
    task: &TaskRow,
    made: Option<&Workspace>,
) -> Result<()> {
    let repo = core::repository::repo(world, context).await?;
    let start = start_of_task(world, context, &repo, task, made).await?;
    require_trust(world, context, &repo, &start).await
}

/// The same for a program of a project, beside its tasks, in the user's own checkout.
pub(crate) async fn require_trust_of_project(world: &World, context: &ProjectContext) -> Result<()> {
    let repo = core::repository::repo(world, context).await?;
    let start = start_of_project(context, &repo).await?;
    require_trust(world, context, &repo, &start).await
}

/// What programs of a project start with: what tasks start on, and what the user's checkout holds, on whichever
/// branch that is, since scripts without a worktree run there.
pub(crate) async fn start_of_project(context: &ProjectContext, repo: &Repo) -> Result<Start> {
    let default_commit = branch_tip(repo, &context.project.default_branch).await?;
    let target = branch_tip(repo, &context.usual_target()).await?;
    let mut commits: Vec<String> = target.into_iter().chain(default_commit.clone()).collect();
    commits.dedup();
    let worktree = (!repo.is_bare()).then(|| repo.main_worktree());
    Ok(Start { commits, worktree, default_commit, ..Start::default() })
}

/// What programs of a task start with: its branch, or where that will begin, and the worktree that was made.
pub(crate) async fn start_of_task(
    world: &World,
    context: &ProjectContext,
    repo: &Repo,
    task: &TaskRow,
    made: Option<&Workspace>,
) -> Result<Start> {
    let (last, raced) = {
        let mut conn = world.store().read().await?;
        (conn.workspaces().last(&task.id).await?, core::lineage::race_base(&mut conn, task).await?)
    };
    let tip = match (branch_tip(repo, &task_branch(task)).await?, raced) {
        (Some(tip), _) => Some(tip),
        (None, Some(base)) => Some(base),
        (None, None) => branch_tip(repo, &context.target_branch(task)).await?,
    };
    let base = match last.map(|workspace| workspace.base_commit) {
        Some(base) => repo.resolve(&base).await?,
        None => None,
    };
    let worktree = match made {
        Some(workspace) => Some(core::repository::worktree(world, context, workspace).await?),
        None => None,
    };
    Ok(Start {
        commits: tip.into_iter().collect(),
        worktree,
        base,
        default_commit: branch_tip(repo, &context.project.default_branch).await?,
        task: Some(task.id.clone()),
    })
}

/// Compares what a program would start with with what was accepted.
pub(crate) async fn judge_start(
    world: &World,
    context: &ProjectContext,
    repo: &Repo,
    start: &Start,
) -> Result<Judgement> {
    let accepted = world.store().read().await?.project_trust().list(&context.project.id).await?;
    let found = found_at(repo, start).await?;
    let earlier = earlier_files(repo, start, &accepted).await?;
    let present: Vec<(&str, &str)> =
        found.iter().map(|it| (it.file.path.as_str(), it.file.sha256.as_str())).collect();
    let known: Vec<TrustedContent> = accepted
        .iter()
        .map(|row| TrustedContent { path: row.path.clone(), sha256: row.sha256.clone() })
        .collect();
    let judged = judge(&known, &present, &earlier);
    Ok(Judgement { found, judged, accepted })
}

/// Every content that a program would start with, once.
async fn found_at(repo: &Repo, start: &Start) -> Result<Vec<Placed>> {
    let mut found: Vec<Placed> = Vec::new();
    let mut add = |file: &StartupFile, commit: Option<&String>, task: Option<&TaskId>| {
        let is_known = |it: &Placed| it.file.path == file.path && it.file.sha256 == file.sha256;
        if !found.iter().any(is_known) {
            found.push(Placed { file: file.clone(), commit: commit.cloned(), task: task.cloned() });
        }
    };
    if let Some(commit) = &start.default_commit {
        let all = repo.startup_files_at(commit).await?;
        for file in all.iter().filter(|file| OWN_FILES.contains(&file.path.as_str())) {
            add(file, Some(commit), None);
        }
    }
    // Both go through every path.
    let in_commits = async {
        let mut found = Vec::new();
        for commit in &start.commits {
            found.push((commit, repo.startup_files_at(commit).await?));
        }
        Ok::<_, GitError>(found)
    };
    let in_worktree = async {
        match &start.worktree {
            Some(worktree) => worktree.startup_files().await,
            None => Ok(Vec::new()),
        }
    };
    let (in_commits, in_worktree) = tokio::try_join!(Box::pin(in_commits), Box::pin(in_worktree))?;
    let mut committed = Vec::new();
    for (commit, all) in &in_commits {
        for file in all.iter() {
            add(file, Some(commit), start.task.as_ref());
        }
        committed.extend(all.iter().cloned());
    }
    for file in in_worktree {
        // git may end lines in a checkout otherwise than in a commit.
        if !committed.iter().any(|other| other.is_same_text(&file)) {
            add(&file, None, start.task.as_ref());
        }
    }
    Ok(found)
}

/// The startup files that were there before: where the branch began, and what was accepted in its history.
async fn earlier_files(repo: &Repo, start: &Start, accepted: &[TrustRow]) -> Result<BTreeSet<String>> {
    let mut earlier = BTreeSet::new();
    if accepted.is_empty() {
        return Ok(earlier);
    }
    if let Some(base) = &start.base {
        earlier.extend(repo.startup_files_at(base).await?.iter().map(|file| file.path.clone()));
    }
    let Some(tip) = start.commits.first() else { return Ok(earlier) };
    let now = repo.startup_files_at(tip).await?;
    let is_gone = |row: &&TrustRow| now.iter().all(|file| file.path != row.path) && row.sha256.is_some();
    for row in accepted.iter().filter(is_gone) {
        let Some(commit) = &row.commit else { continue };
        if !earlier.contains(&row.path)
            && repo.resolve(commit).await?.is_some()
            && repo.is_ancestor(commit, tip).await?
        {
            earlier.insert(row.path.clone());
        }
    }
    Ok(earlier)
}

/// The commit of a branch.
pub(crate) async fn branch_tip(repo: &Repo, branch: &str) -> Result<Option<String>> {
    Ok(repo.resolve(&format!("refs/heads/{branch}")).await?)
}
