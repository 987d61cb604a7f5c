//! Bringing files that git does not keep (`.env`, dependencies) from the user's checkout into a worktree.
//!
//! git is asked what is untracked there; ignored folders are named as a whole and only gone into when a rule's
//! beginning names them. Invariants: what git tracks is never touched, nothing that exists is overwritten, no `.git`
//! is entered, and nothing is read or written outside of the two directories (`transfer`). Repeating it adds what is
//! missing.

mod report;
mod rule;
mod rules;
mod transfer;

use std::path::PathBuf;

use tokio_util::sync::CancellationToken;

use crate::bytes;
use crate::command::Kind;
use crate::error::GitError;
use crate::worktree::Worktree;
pub use report::{CopyProgress, CopyReport, Skipped, SkippedWhy};
pub use rule::{CopyMode, CopyRule};

use rules::Rules;
use transfer::Transfer;

impl Worktree {
    /// Brings what the rules match and git does not track in the user's checkout into the worktree.
    ///
    /// A symbolic link that a rule names and that leads out of the repository is refused ([`GitError::PathEscape`]); what was brought
    /// before it stays. `progress` is called on the caller's task, from time to time.
    pub async fn copy_files(
        &self,
        rules: &[CopyRule],
        progress: &(dyn Fn(CopyProgress) + Sync),
        cancel: &CancellationToken,
    ) -> Result<CopyReport, GitError> {
        // A bare repository has no checkout to bring anything from.
        if rules.is_empty() || self.repo().root() == self.repo().common_dir() {
            return Ok(CopyReport::default());
        }
        let rules = Rules::new(rules)?;
        let others = ["ls-files", "-z", "--others", "--exclude-standard"];
        let (ignored, untracked, tracked) = tokio::try_join!(
            self.repo().read().args(others).args(["--ignored", "--directory"]).ok(),
            self.repo().read().args(others).ok(),
            self.command(Kind::Read).args(["ls-files", "-z"]).ok(),
        )?;
        let (send, mut receive) = tokio::sync::mpsc::unbounded_channel();
        // Also stops when the caller loses interest.
        let stop = cancel.child_token();
        let guard = stop.clone().drop_guard();
        let (from, to) = (self.repo().root().to_owned(), self.path().to_owned());
        let mut working = tokio::task::spawn_blocking(move || {
            let candidates = bytes::records(&ignored).chain(bytes::records(&untracked));
            let wanted = rules.wanted(&from, candidates)?;
            let tracked = bytes::records(&tracked).map(<[u8]>::to_vec).collect();
            let tell = |step| {
                // Nobody listens any more: the caller has gone, and the token says so next.
                let _gone = send.send(step);
            };
            let mut transfer = Transfer::new(&from, &to, tracked, &stop, &tell)?;
            for wanted in &wanted {
                transfer.bring(wanted)?;
            }
            Ok::<_, GitError>(transfer.done())
        });
        let done = loop {
            tokio::select! {
                Some(step) = receive.recv() => progress(step),
                done = &mut working => break done??,
            }
        };
        drop(guard);
        while let Ok(step) = receive.try_recv() {
            progress(step);
        }
        let (mut report, links) = done;
        report.hidden = self.hide(&links).await?;
        Ok(report)
    }

    /// A link does not match a pattern for folders (`node_modules/`): git would take it for a new file, and the next
    /// commit would have it. Adds such links to the private ignore list.
    async fn hide(&self, links: &[PathBuf]) -> Result<Vec<String>, GitError> {
        if links.is_empty() {
            return Ok(Vec::new());
        }
        let names = links.iter().flat_map(|path| bytes::of(path).iter().copied().chain([0]));
        let command = self
            .command(Kind::Read)
            .args(["check-ignore", "-z", "--stdin"])
            .input(names.collect::<Vec<u8>>());
        let args = command.shown();
        let output = command.run().await?;
        if !matches!(output.exit, Some(0 | 1)) {
            return Err(output.failed(args));
        }
        let ignored: Vec<&[u8]> = bytes::records(&output.stdout).collect();
        let open: Vec<&PathBuf> = links.iter().filter(|path| !ignored.contains(&bytes::of(path))).collect();
        let lines: Vec<Vec<u8>> = open.iter().map(|path| rules::literal(bytes::of(path))).collect();
        let lines: Vec<&[u8]> = lines.iter().map(Vec::as_slice).collect();
        self.repo().exclude_lines(&lines).await?;
        Ok(open.into_iter().map(|path| path.to_string_lossy().into_owned()).collect())
    }
}

#[cfg(test)]
mod tests;
