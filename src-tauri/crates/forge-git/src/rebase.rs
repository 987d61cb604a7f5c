//! Replaying commits on another base without a work tree, one `merge-tree` per commit.

use crate::bytes;
use crate::error::GitError;
use crate::merge::{Attributes, CommitMaker, MergeComputation, MergeRequest, Merged, Tips};
use crate::repo::Repo;

/// A commit to be made again.
#[derive(Debug)]
struct Original {
    oid: String,
    tree: String,
    parent: Option<String>,
    author: [String; 3],
    message: String,
}

impl Repo {
    pub(crate) async fn replay(
        &self,
        request: &MergeRequest,
        tips: Tips,
    ) -> Result<MergeComputation, GitError> {
        let originals = self.originals(&tips).await?;
        // Only messages are made anew, never authors: those of the request are for new commits.
        let maker = self.commit_maker(None).await?;
        let attributes = Attributes::of(self, &tips.target).await?;
        let (mut tip, mut tree) = (tips.target.clone(), tips.target_tree.clone());
        for original in originals {
            if original.parent.as_ref() == Some(&tip) {
                // Stands where it should already.
                (tip, tree) = (original.oid, original.tree);
                continue;
            }
            match self.pick(&maker, &attributes, (&tip, &tree), &original).await? {
                Merged::Tree(same) if same == tree => {}
                Merged::Tree(fresh) => {
                    let [name, email, date] = original.author;
                    let author = vec![
                        ("GIT_AUTHOR_NAME".into(), name.into()),
                        ("GIT_AUTHOR_EMAIL".into(), email.into()),
                        ("GIT_AUTHOR_DATE".into(), format!("@{date}").into()),
                    ];
                    tip = maker.make_again(self, &fresh, &[&tip], &original.message, author).await?;
                    tree = fresh;
                }
                Merged::Conflict { tree, paths, messages } => {
                    tracing::debug!(commit = %original.oid, target = %request.target_branch, "replay conflicts");
                    let target_before = tips.target;
                    return Ok(MergeComputation::Conflict { target_before, tree, paths, messages });
                }
            }
        }
        if tree == tips.target_tree {
            return Ok(MergeComputation::NothingToMerge);
        }
        let fast_forward = tip == tips.source;
        Ok(MergeComputation::Ready { commit: tip, target_before: tips.target, fast_forward })
    }

    async fn pick(
        &self,
        maker: &CommitMaker,
        attributes: &Attributes,
        (tip, tree): (&str, &str),
        original: &Original,
    ) -> Result<Merged, GitError> {
        if let Some(parent) = &original.parent
            && self.git().version() >= (2, 40, 0)
        {
            let base = format!("--merge-base={parent}");
            return self.merge_tree(attributes, &[&base, tip, &original.oid]).await;
        }
        // git finds the merge base itself: two commits of the same trees whose only ancestor is the one meant.
        let base = match &original.parent {
            Some(parent) => parent.clone(),
            None => {
                let empty = self.write().arg("mktree").input("").text().await?;
                maker.make(self, &empty, &[], "base").await?
            }
        };
        let ours = maker.make(self, tree, &[&base], "ours").await?;
        let theirs = maker.make(self, &original.tree, &[&base], "theirs").await?;
        self.merge_tree(attributes, &[&ours, &theirs]).await
    }

    /// The source's commits the target does not have, oldest first, as `git rebase` picks them: no merges, none
    /// whose change is in the target already.
    async fn originals(&self, tips: &Tips) -> Result<Vec<Original>, GitError> {
        let command = self
            .read()
            .config("log.showSignature=false")
            .args(["log", "-z", "--no-color", "--reverse", "--topo-order", "--no-merges", "--cherry-pick"])
            .args(["--right-only", "--date=raw", "--format=%H%n%T%n%P%n%an%n%ae%n%ad%n%B"])
            .args(["--end-of-options", &format!("{}...{}", tips.target, tips.source)]);
        let args = command.shown();
        let output = command.ok().await?;
        bytes::records(&output)
            .map(|record| {
                let record = bytes::text(record);
                let mut lines = record.splitn(7, '\n');
                let mut next = || lines.next().map(str::to_owned);
                Some(Original {
                    oid: next()?,
                    tree: next()?,
                    parent: next()?.split(' ').next().filter(|p| !p.is_empty()).map(str::to_owned),
                    author: [next()?, next()?, next()?],
                    message: next()?,
                })
            })
            .collect::<Option<_>>()
            .ok_or_else(|| GitError::Unexpected { args, what: "a record without its fields".to_owned() })
    }
}
