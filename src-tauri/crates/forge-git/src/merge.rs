//! Computing merges without a work tree.
//!
//! `git merge-tree` merges in the object store; what comes out is a commit that nothing points to yet, or the
//! list of conflicts. No checkout, index or ref is touched: [`Repo::land`] moves the branch.
//! Merge drivers see the attributes of the target, not those of whatever happens to be checked out. Where the two
//! sides touched different paths alone, git is not needed to say what comes out (`apart`).

use std::ffi::OsString;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::bytes;
use crate::command::{GitCommand, Kind};
use crate::error::GitError;
use crate::repo::Repo;
use crate::scratch::ScratchDir;
use crate::signing;
use answer::parse_merged;

mod answer;
mod apart;

/// How the source's work becomes part of the target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MergeStrategy {
    /// What `git merge` does: the source's tip itself when that is ahead of the target, else a merge commit.
    Merge,
    /// One commit on the target with all the source's changes.
    Squash,
    /// The source's commits again on top of the target, authors kept, empty ones dropped.
    Rebase,
}

/// A merge to be computed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MergeRequest {
    /// Branch merged into (short name).
    pub target_branch: String,
    /// What is merged: a branch, commit or other revision.
    pub source: String,
    /// How.
    pub strategy: MergeStrategy,
    /// Message of a merge or squash commit.
    pub message: String,
    /// Author (name, email) of a merge or squash commit, when not the user.
    pub author: Option<(String, String)>,
}

/// A merge that reached its target, to be verified.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LandedChange<'a> {
    /// Branch merged into (short name).
    pub target_branch: &'a str,
    /// The commit that was merged.
    pub source: &'a str,
    /// Where the target was before.
    pub target_before: &'a str,
    /// The commit that the target moved to.
    pub commit: &'a str,
    /// How it was merged.
    pub strategy: MergeStrategy,
}

/// What a merge comes to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum MergeComputation {
    /// The target contains the source, or the result is what the target holds already.
    NothingToMerge,
    /// A commit that the target can move to.
    Ready {
        /// The commit (hex).
        commit: String,
        /// Commit of the target before the merge.
        target_before: String,
        /// No new commit was needed: it is the source's tip.
        fast_forward: bool,
    },
    /// The two sides do not go together.
    Conflict {
        /// Commit of the target before the merge.
        target_before: String,
        /// The tree that git made of it (hex), with markers in the files in conflict.
        tree: String,
        /// The paths in conflict.
        paths: Vec<ConflictPath>,
        /// What git says about it.
        messages: Vec<MergeMessage>,
    },
}

/// One path in conflict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConflictPath {
    /// The path.
    pub path: String,
    /// What kind of conflict.
    pub kind: ConflictKind,
    /// The common ancestor's version.
    pub base: Option<ConflictSide>,
    /// The target's version.
    pub ours: Option<ConflictSide>,
    /// The source's version.
    pub theirs: Option<ConflictSide>,
}

/// One version of a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConflictSide {
    /// Object name (hex).
    pub oid: String,
    /// git file mode, octal.
    pub mode: String,
}

/// Kinds of conflict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConflictKind {
    /// Both changed the same lines.
    Content,
    /// Both changed a file that is not text.
    Binary,
    /// Both added the path with different content.
    AddAdd,
    /// One changed it, the other deleted it.
    ModifyDelete,
    /// One renamed it, the other deleted it.
    RenameDelete,
    /// Both renamed it, or two files ended at one path.
    RenameRename,
    /// A file on one side, a directory on the other.
    FileDirectory,
    /// Became different types: file, link or submodule.
    Type,
    /// A submodule that both moved.
    Submodule,
    /// Something else; the messages say what.
    Other,
}

/// Something git has to say about a merge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MergeMessage {
    /// git's stable name for it, such as `CONFLICT (contents)`.
    pub kind: String,
    /// The paths it is about.
    pub paths: Vec<String>,
    /// The sentence.
    pub text: String,
}

/// Two tips about to be merged.
#[derive(Debug)]
pub(crate) struct Tips {
    pub(crate) target: String,
    pub(crate) target_tree: String,
    pub(crate) source: String,
    pub(crate) source_tree: String,
}

/// How the source stands to the target.
enum Relation {
    Contained,
    Ahead,
    Diverged,
}

/// What one run of `merge-tree` found.
pub(crate) enum Merged {
    Tree(String),
    Conflict { tree: String, paths: Vec<ConflictPath>, messages: Vec<MergeMessage> },
}

impl Repo {
    /// Computes a merge; nothing but new objects is written.
    pub async fn compute_merge(&self, request: &MergeRequest) -> Result<MergeComputation, GitError> {
        let tips = self.tips(&request.target_branch, &request.source).await?;
        if request.strategy == MergeStrategy::Rebase {
            return match self.relation(request, &tips).await? {
                Relation::Contained => Ok(MergeComputation::NothingToMerge),
                Relation::Ahead if tips.source_tree == tips.target_tree => {
                    Ok(MergeComputation::NothingToMerge)
                }
                Relation::Ahead | Relation::Diverged => self.replay(request, tips).await,
            };
        }
        let author = request.author.as_ref().map(|(name, email)| (name.as_str(), email.as_str()));
        let (tree, maker) = match self.relation(request, &tips).await? {
            Relation::Contained => return Ok(MergeComputation::NothingToMerge),
            Relation::Ahead if tips.source_tree == tips.target_tree => {
                return Ok(MergeComputation::NothingToMerge);
            }
            Relation::Ahead if request.strategy == MergeStrategy::Merge => {
                return Ok(MergeComputation::Ready {
                    commit: tips.source,
                    target_before: tips.target,
                    fast_forward: true,
                });
            }
            Relation::Ahead => (tips.source_tree.clone(), self.commit_maker(author).await),
            Relation::Diverged => {
                let (merged, maker) = tokio::join!(self.merge_tips(&tips), self.commit_maker(author));
                match merged? {
                    Merged::Tree(tree) if tree == tips.target_tree => {
                        return Ok(MergeComputation::NothingToMerge);
                    }
                    Merged::Tree(tree) => (tree, maker),
                    Merged::Conflict { tree, paths, messages } => {
                        return Ok(MergeComputation::Conflict {
                            target_before: tips.target,
                            tree,
                            paths,
                            messages,
                        });
                    }
                }
            }
        };
        let parents: &[&str] = match request.strategy {
            MergeStrategy::Merge => &[&tips.target, &tips.source],
            MergeStrategy::Squash | MergeStrategy::Rebase => &[&tips.target],
        };
        let commit = maker?.make(self, &tree, parents, &request.message).await?;
        Ok(MergeComputation::Ready { commit, target_before: tips.target, fast_forward: false })
    }

    /// Whether a commit's work is in the target already: it is an ancestor, or merging it would change nothing, as
    /// after a squash, rebase or cherry-pick.
    pub async fn is_contained(&self, commit: &str, target: &str) -> Result<bool, GitError> {
        let (source, target) = (self.must_resolve(commit).await?, self.must_resolve(target).await?);
        match self.merge_base(&target, &source).await? {
            None => return Ok(false),
            Some(base) if base == source => return Ok(true),
            Some(_) => {}
        }
        let (source_tree, target_tree) = (self.tree_of(&source).await?, self.tree_of(&target).await?);
        if source_tree == target_tree {
            return Ok(true);
        }
        match self.merge_tips(&Tips { target, target_tree: target_tree.clone(), source, source_tree }).await?
        {
            Merged::Tree(tree) => Ok(tree == target_tree),
            Merged::Conflict { .. } => Ok(false),
        }
    }

    /// Whether a target holds a change that was merged into it: the merge's commit is reachable from the target, and
    /// either the source is reachable from that commit, or git computes that commit's tree for this merge.
    pub async fn holds_change(&self, landed: LandedChange<'_>) -> Result<bool, GitError> {
        let branch = format!("refs/heads/{}", landed.target_branch);
        if !self.is_ancestor(landed.commit, &branch).await? {
            return Ok(false);
        }
        if self.is_ancestor(landed.source, landed.commit).await? {
            return Ok(true);
        }
        let (target, source) =
            (self.must_resolve(landed.target_before).await?, self.must_resolve(landed.source).await?);
        let (target_tree, source_tree) = (self.tree_of(&target).await?, self.tree_of(&source).await?);
        let tips = Tips { target, target_tree, source, source_tree };
        let Some(computed) = self.computed_tree(landed, tips).await? else { return Ok(false) };
        // git compares them itself, so that a wrong name for a tree would show.
        self.read().args(["diff-tree", "--quiet", "-r", &computed, landed.commit]).yes().await
    }

    /// The tree that git computes for a merge; `None` when the sides conflict.
    async fn computed_tree(&self, landed: LandedChange<'_>, tips: Tips) -> Result<Option<String>, GitError> {
        if landed.strategy == MergeStrategy::Rebase {
            let target_tree = tips.target_tree.clone();
            let request = MergeRequest {
                target_branch: landed.target_branch.to_owned(),
                source: landed.source.to_owned(),
                strategy: MergeStrategy::Rebase,
                message: String::new(),
                author: None,
            };
            return Ok(match self.replay(&request, tips).await? {
                MergeComputation::NothingToMerge => Some(target_tree),
                MergeComputation::Ready { commit, .. } => Some(self.tree_of(&commit).await?),
                MergeComputation::Conflict { .. } => None,
            });
        }
        let attributes = Attributes::of(self, &tips.target).await?;
        Ok(match self.merge_tree(&attributes, &[&tips.target, &tips.source]).await? {
            Merged::Tree(tree) => Some(tree),
            Merged::Conflict { .. } => None,
        })
    }

    async fn tips(&self, target_branch: &str, source: &str) -> Result<Tips, GitError> {
        let target = format!("refs/heads/{target_branch}");
        let (branch, other) = (target.clone(), source.to_owned());
        let known = self.locally(move |local| {
            let (target, source) = (local.resolve(&branch)??, local.resolve(&other)??);
            let (target_tree, source_tree) = (local.tree_of(&target)?, local.tree_of(&source)?);
            Some(Tips { target, target_tree, source, source_tree })
        });
        if let Some(known) = known.await {
            return Ok(known);
        }
        let names = [&target, source].map(|n| [format!("{n}^{{commit}}"), format!("{n}^{{tree}}")]);
        let asked =
            self.read().args(["rev-parse", "--end-of-options"]).args(names.as_flattened()).run().await?;
        let said = bytes::text(&asked.stdout);
        let oids: Vec<&str> = said.lines().filter(|line| *line != "--end-of-options").collect();
        let (Some(0), &[target_tip, target_tree, source_tip, source_tree]) = (asked.exit, oids.as_slice())
        else {
            self.must_resolve(&target).await?;
            self.must_resolve(source).await?;
            return Err(asked.failed("rev-parse".to_owned()));
        };
        Ok(Tips {
            target: target_tip.to_owned(),
            target_tree: target_tree.to_owned(),
            source: source_tip.to_owned(),
            source_tree: source_tree.to_owned(),
        })
    }

    async fn relation(&self, request: &MergeRequest, tips: &Tips) -> Result<Relation, GitError> {
        match self.merge_base(&tips.target, &tips.source).await? {
            None => Err(GitError::UnrelatedHistories {
                target: request.target_branch.clone(),
                source_rev: request.source.clone(),
            }),
            Some(base) if base == tips.source => Ok(Relation::Contained),
            Some(base) if base == tips.target => Ok(Relation::Ahead),
            Some(_) => Ok(Relation::Diverged),
        }
    }

    async fn merge_tips(&self, tips: &Tips) -> Result<Merged, GitError> {
        if let Some(tree) = self.merge_apart(tips).await? {
            return Ok(Merged::Tree(tree));
        }
        let attributes = Attributes::of(self, &tips.target).await?;
        self.merge_tree(&attributes, &[&tips.target, &tips.source]).await
    }

    /// Merges; `sides` are merge-tree's arguments.
    pub(crate) async fn merge_tree(
        &self,
        attributes: &Attributes,
        sides: &[&str],
    ) -> Result<Merged, GitError> {
        let command = attributes
            .apply(self.write())
            .args(["merge-tree", "--write-tree", "-z", "--messages"])
            .args(sides);
        let args = command.shown();
        let output = command.run().await?;
        match output.exit {
            Some(code @ (0 | 1)) => parse_merged(&output.stdout, code == 0).ok_or_else(|| {
                GitError::Unexpected { args, what: "an inconsistent list of conflicts".to_owned() }
            }),
            _ => Err(output.failed(args)),
        }
    }

    /// Settles who commits and whether commits are signed, once for any number of them.
    pub(crate) async fn commit_maker(&self, author: Option<(&str, &str)>) -> Result<CommitMaker, GitError> {
        let identity = self.main_worktree().identity(author).await?;
        // `commit-tree` does not look at this setting, `git merge` does.
        let signed = self.main_worktree().settings().await?.is_on("commit.gpgsign");
        Ok(CommitMaker { identity, signed })
    }
}

/// Makes commits out of trees.
#[derive(Debug)]
pub(crate) struct CommitMaker {
    identity: Vec<(OsString, OsString)>,
    signed: bool,
}

impl CommitMaker {
    /// The commit (hex) of a tree.
    pub(crate) async fn make(
        &self,
        repo: &Repo,
        tree: &str,
        parents: &[&str],
        message: &str,
    ) -> Result<String, GitError> {
        self.make_again(repo, tree, parents, message, Vec::new()).await
    }

    /// The same with the author of another commit, given as git's variables.
    pub(crate) async fn make_again(
        &self,
        repo: &Repo,
        tree: &str,
        parents: &[&str],
        message: &str,
        author: Vec<(OsString, OsString)>,
    ) -> Result<String, GitError> {
        let mut command = repo.main_worktree().command(Kind::User).arg("commit-tree");
        command = command.arg(if self.signed { "--gpg-sign" } else { "--no-gpg-sign" });
        for parent in parents {
            command = command.args(["-p", parent]);
        }
        let end = if message.ends_with('\n') { "" } else { "\n" };
        command = command.arg(tree).envs(self.identity.iter().cloned()).envs(author);
        command = command.input(format!("{message}{end}"));
        if !self.signed {
            return command.text().await;
        }
        match command.blind(true).timeout(signing::LIMIT).text().await {
            Err(GitError::Timeout { after, .. }) => Err(GitError::SigningTimedOut { after }),
            Err(GitError::Failed { stderr, .. }) => Err(GitError::SigningFailed { output: stderr }),
            other => other,
        }
    }
}

/// Where merge-tree finds `.gitattributes`.
#[derive(Debug)]
pub(crate) enum Attributes {
    /// git reads them from a commit.
    Commit(String),
    /// git is too old for that: they lie in a directory that is shown to it as its work tree.
    Copied { git_dir: PathBuf, dir: ScratchDir },
}

impl Attributes {
    pub(crate) async fn of(repo: &Repo, commit: &str) -> Result<Attributes, GitError> {
        if repo.git().version() >= (2, 41, 0) {
            return Ok(Attributes::Commit(commit.to_owned()));
        }
        let dir = ScratchDir::new(repo.common_dir())?;
        let listed = repo.read().args(["ls-tree", "-r", "-z", commit]).ok().await?;
        for record in bytes::records(&listed) {
            let Some(tab) = record.iter().position(|b| *b == b'\t') else { continue };
            let (header, path) = (bytes::text(&record[..tab]), bytes::path(&record[tab + 1..]));
            let mut fields = header.split(' ');
            let regular = fields.next().is_some_and(|mode| mode.starts_with("100"));
            let oid = fields.nth(1);
            if let (true, Some(oid), Some(name)) = (regular, oid, path.file_name())
                && name == ".gitattributes"
            {
                let content = repo.blob(oid, 64 << 20).await?;
                crate::guard::Root::open(&dir.path)?.write(path, &content, false)?;
            }
        }
        Ok(Attributes::Copied { git_dir: repo.common_dir().to_owned(), dir })
    }

    fn apply(&self, command: GitCommand) -> GitCommand {
        match self {
            Attributes::Commit(commit) => command.global(format!("--attr-source={commit}")),
            Attributes::Copied { git_dir, dir } => command
                .env("GIT_DIR", git_dir)
                .env("GIT_WORK_TREE", &dir.path)
                // The main work tree's index would be asked next.
                .env("GIT_INDEX_FILE", dir.path.join("no-index"))
                .in_dir(&dir.path),
        }
    }
}

#[cfg(test)]
mod tests;
