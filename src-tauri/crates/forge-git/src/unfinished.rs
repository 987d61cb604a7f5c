//! What was left unfinished in a worktree: a rebase, cherry-pick or revert that stands still, a merge with
//! conflicts, a `HEAD` that is not on the worktree's branch.
//!
//! What needs no decision is brought to its end, as `--continue` does. Where one is needed, and where continuing
//! would run programs, nothing moves, and whoever works there is told. Invariants: no file and no commit is lost; a commit that is on no branch of the
//! worktree is kept under a ref; the branch moves by compare and swap, only forward. Repeating it is safe.

use std::path::Path;

use crate::bytes;
use crate::command::Kind;
use crate::error::GitError;
use crate::guard::{Entry, Root};
use crate::repo::Operation;
use crate::sequencer;
use crate::worktree::Worktree;

/// How often an operation is continued: as often as it stops on purpose.
const MOST_STOPS: u32 = 1000;
/// Files beyond this are not looked at; what is in conflict there is somebody's to decide.
const FILE_CAP: u64 = 32 << 20;

/// How a worktree stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Standing {
    /// On its branch, in the middle of nothing but a merge that only waits for its commit.
    Ready {
        /// What was brought to its end.
        finished: Option<Operation>,
        /// Whether commits that were made beside the branch are on it now.
        taken: bool,
    },
    /// Somebody must decide.
    Open(UnfinishedOperation),
}

/// What cannot be brought to its end without a decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnfinishedOperation {
    /// What stands still; `None` when only `HEAD` is elsewhere.
    pub operation: Option<Operation>,
    /// Files whose conflicts nobody resolved.
    pub files: Vec<String>,
    /// The ref that keeps commits which the branch does not hold.
    pub kept: Option<String>,
    /// What git says to it.
    pub said: String,
    /// Why Forge does not continue it, in words: that would run programs.
    pub refused: Option<String>,
}

enum Continued {
    Done,
    /// Nothing was started.
    Refused(String),
    Stuck {
        files: Vec<String>,
        said: String,
    },
}

impl Worktree {
    /// Brings the worktree back to its branch, at the end of what was begun there.
    ///
    /// `author` as for [`Self::commit_all`]. What is not committed and no part of a unfinished operation stays so.
    pub async fn finish_operation(
        &self,
        branch: &str,
        ref_prefix: &str,
        author: Option<(&str, &str)>,
    ) -> Result<Standing, GitError> {
        let git_dir = self.git_dir().await?;
        let mut finished = None;
        match crate::repo::operation_in(&git_dir) {
            None => {}
            Some(Operation::Merge) => {
                let files = self.undecided().await?;
                if !files.is_empty() {
                    return self.left_open(branch, ref_prefix, Some(Operation::Merge), files, "").await;
                }
            }
            Some(operation) => match self.go_on(&git_dir, operation, author).await? {
                Continued::Done => finished = Some(operation),
                Continued::Stuck { files, said } => {
                    return self.left_open(branch, ref_prefix, Some(operation), files, &said).await;
                }
                Continued::Refused(why) => {
                    let left = self.left_open(branch, ref_prefix, Some(operation), Vec::new(), "").await?;
                    return Ok(match left {
                        Standing::Open(unfinished) => {
                            Standing::Open(UnfinishedOperation { refused: Some(why), ..unfinished })
                        }
                        ready @ Standing::Ready { .. } => ready,
                    });
                }
            },
        }
        let name = format!("refs/heads/{branch}");
        if self.attached_to(&git_dir).await?.as_deref() == Some(&name) {
            return Ok(Standing::Ready { finished, taken: false });
        }
        let head = self.head().await?;
        let taken = match self.repo().ref_value(&name).await? {
            Some(tip) if tip == head => false,
            Some(tip) if self.repo().is_ancestor(&head, &tip).await? => {
                // It looks at an earlier commit: what is not committed comes along, if git can carry it.
                let command = ["checkout", "--quiet", "--no-guess", branch, "--"];
                let output = self.command(Kind::User).args(command).run().await?;
                if output.exit != Some(0) {
                    let said = bytes::text(&output.stderr);
                    return self.left_open(branch, ref_prefix, None, Vec::new(), said.trim()).await;
                }
                return Ok(Standing::Ready { finished, taken: false });
            }
            Some(tip) if !self.repo().is_ancestor(&tip, &head).await? => {
                return self.left_open(branch, ref_prefix, None, Vec::new(), "").await;
            }
            tip => {
                let old = tip.unwrap_or_default();
                self.repo().update_ref(&name, &head, &old, "forge: made beside the branch").await?;
                true
            }
        };
        let attach = ["symbolic-ref", "-m", "forge: back to the worktree's branch", "HEAD", &name];
        self.command(Kind::Write).args(attach).ok().await?;
        Ok(Standing::Ready { finished, taken })
    }

    /// Begins to merge the branch `target` in the worktree and leaves it uncommitted there, conflicts and all, for
    /// whoever edits the files; [`Self::finish_operation`] and [`Self::commit_all`] end it. Whether one is under way
    /// now: none is when the branch holds `target` already, or its files are changed. `author` as for
    /// [`Self::commit_all`].
    pub async fn begin_merge(&self, target: &str, author: Option<(&str, &str)>) -> Result<bool, GitError> {
        let git_dir = self.git_dir().await?;
        if let Some(operation) = crate::repo::operation_in(&git_dir) {
            return Ok(operation == Operation::Merge);
        }
        let name = format!("refs/heads/{target}");
        if self.repo().is_ancestor(&name, &self.head().await?).await? {
            return Ok(false);
        }
        let identity = self.identity(author).await?;
        let command = ["merge", "--quiet", "--no-commit", "--no-ff", "--no-squash", "--no-stat", &name];
        let merge = self.command(Kind::User).envs(identity).args(command);
        // What it exits with does not tell a conflict from a refusal; what it left does.
        merge.run().await?;
        Ok(crate::repo::operation_in(&git_dir) == Some(Operation::Merge))
    }

    /// Nothing moves; commits that no branch of the worktree holds are kept.
    async fn left_open(
        &self,
        branch: &str,
        ref_prefix: &str,
        operation: Option<Operation>,
        files: Vec<String>,
        said: &str,
    ) -> Result<Standing, GitError> {
        let head = self.head().await?;
        let held = match self.repo().ref_value(&format!("refs/heads/{branch}")).await? {
            Some(tip) => self.repo().is_ancestor(&head, &tip).await?,
            None => false,
        };
        let kept = if held { None } else { Some(self.repo().keep(&head, ref_prefix).await?) };
        Ok(Standing::Open(UnfinishedOperation {
            operation,
            files,
            kept,
            said: said.to_owned(),
            refused: None,
        }))
    }

    async fn go_on(
        &self,
        git_dir: &Path,
        operation: Operation,
        author: Option<(&str, &str)>,
    ) -> Result<Continued, GitError> {
        let (identity, signs) = (self.identity(author).await?, self.signs().await?);
        let command = match operation {
            Operation::Rebase if git_dir.join("rebase-apply/applying").exists() => "am",
            Operation::Rebase => "rebase",
            Operation::CherryPick => "cherry-pick",
            Operation::Revert => "revert",
            Operation::Merge => "merge",
        };
        let mut said = String::new();
        for _ in 0..MOST_STOPS {
            let files = self.undecided().await?;
            if !files.is_empty() {
                return Ok(Continued::Stuck { files, said });
            }
            if let Some(why) = self.foreign_work(git_dir).await? {
                return Ok(Continued::Refused(why));
            }
            let checked_out = self.checked_out_links().await?;
            let changes = self.status_beside(true, &checked_out).await?;
            self.stage_all(git_dir, None, &changes, &checked_out).await?;
            let mut ended = None;
            // What turned out to be in the branch already is left out; a rebase does that by itself.
            for how in ["--continue", "--skip"] {
                let go_on = self.command(Kind::User).envs(identity.clone()).args([command, how]);
                let output = go_on.blind(signs).run().await?;
                said = [bytes::text(&output.stdout), bytes::text(&output.stderr)].concat().trim().to_owned();
                ended = output.exit;
                let may_skip = matches!(operation, Operation::CherryPick | Operation::Revert);
                if ended == Some(0) || !may_skip || !self.status().await?.is_empty() {
                    break;
                }
            }
            if crate::repo::operation_in(git_dir) != Some(operation) {
                return Ok(Continued::Done);
            }
            if ended != Some(0) && self.undecided().await?.is_empty() {
                return Ok(Continued::Stuck { files: Vec::new(), said });
            }
        }
        Ok(Continued::Stuck { files: Vec::new(), said })
    }

    /// What continuing would run besides git, in words.
    async fn foreign_work(&self, git_dir: &Path) -> Result<Option<String>, GitError> {
        let key = self.settings().await?.get("user.signingkey").unwrap_or_default().to_owned();
        let git_dir = git_dir.to_owned();
        tokio::task::spawn_blocking(move || sequencer::foreign_in(&git_dir, &key)).await?
    }

    /// Files in conflict that nobody resolved: those with markers, and those where a side has to be chosen. One
    /// that both sides changed and that holds no markers any more is resolved, added or not.
    async fn undecided(&self) -> Result<Vec<String>, GitError> {
        let listed = self.command(Kind::Read).args(["ls-files", "--unmerged", "-z"]).ok().await?;
        let mut conflicts: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
        for record in bytes::records(&listed) {
            let Some(tab) = record.iter().position(|b| *b == b'\t') else { continue };
            let (stage, path) = (record[..tab].last().copied().unwrap_or_default(), &record[tab + 1..]);
            match conflicts.last_mut().filter(|(known, _)| known == path) {
                Some((_, stages)) => stages.push(stage),
                None => conflicts.push((path.to_vec(), vec![stage])),
            }
        }
        let root = self.path().to_owned();
        tokio::task::spawn_blocking(move || {
            let root = Root::open(&root)?;
            let mut undecided = Vec::new();
            for (path, stages) in conflicts {
                let both = stages.contains(&b'2') && stages.contains(&b'3');
                let resolved = both
                    && match root.read(bytes::path(&path), FILE_CAP)? {
                        Some(Entry::File { content, .. }) => {
                            !content.contains(&0) && !crate::commit::has_markers(&content)
                        }
                        _ => false,
                    };
                if !resolved {
                    undecided.push(bytes::text(&path));
                }
            }
            Ok(undecided)
        })
        .await?
    }
}

#[cfg(test)]
mod tests;
