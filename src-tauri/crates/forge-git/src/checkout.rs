//! Filling a new worktree with files, and declaring it complete.

use std::io::ErrorKind;
use std::path::Path;

use crate::bytes;
use crate::command::Kind;
use crate::error::GitError;
use crate::keep::Head;
use crate::lock::Turn;
use crate::repo::Repo;

const HOOK: &str = "post-checkout";

/// What a repository says about checking out in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Rules {
    /// As far as settings, hooks and attributes outside of the tree go, git would do nothing but write files.
    pub(crate) plain: bool,
    /// There may be a hook that wants to know of it.
    pub(crate) hook: bool,
}

impl Repo {
    /// What the repository says about checking out in it.
    pub(crate) async fn checkout_rules(&self) -> Result<Rules, GitError> {
        let listed = self.read().args(["config", "--list", "-z"]).ok().await?;
        let (settings, hooks_elsewhere) = judge(&listed);
        let hook = |name: &str| {
            hooks_elsewhere || self.common_dir().join("hooks").join(name).symlink_metadata().is_ok()
        };
        // Attributes at the top are what most have who have any: the tree need not be listed to see them.
        let attributes = self.root().join(".gitattributes").symlink_metadata().is_ok();
        let plain = settings && !hook("post-index-change") && !attributes;
        Ok(Rules { plain: plain && !self.has_attributes_outside().await?, hook: hook(HOOK) })
    }

    /// Fills a worktree that was just registered: by ourselves where git would do nothing but write files, else by
    /// git.
    pub(crate) async fn fill(
        &self,
        path: &Path,
        admin: &Path,
        start: &str,
        rules: Rules,
        tree: &Turn,
    ) -> Result<(), GitError> {
        if rules.plain {
            match self.check_out_plain(path, admin, tree).await {
                Ok(()) => return Ok(()),
                Err(why) => tracing::debug!(path = %path.display(), %why, "left to git"),
            }
        }
        self.check_out(path, admin, start, tree).await
    }

    /// Puts index and tracked files where `HEAD` is, as `git worktree add` does it: filters, LFS, sparse checkout
    /// and attributes apply. A branch that somebody deleted in between begins again at `start`: git takes it for one
    /// without commits, and `HEAD` for a tree without files.
    pub(crate) async fn check_out(
        &self,
        path: &Path,
        admin: &Path,
        start: &str,
        tree: &Turn,
    ) -> Result<(), GitError> {
        self.reset_to(None, path, admin, tree).await?;
        if let Head::Unborn(_) = self.worktree_at(path).head_or_last().await? {
            self.reset_to(Some(start), path, admin, tree).await?;
        }
        Ok(())
    }

    async fn reset_to(
        &self,
        commit: Option<&str>,
        path: &Path,
        admin: &Path,
        tree: &Turn,
    ) -> Result<(), GitError> {
        let worktree = self.worktree_at(path);
        let reset = worktree
            .command(Kind::User)
            .config(format!("checkout.workers={}", checkout_workers()))
            .during(tree)
            .args(["reset", "--quiet", "--hard", "--no-recurse-submodules"])
            .args(commit);
        worktree.run_in_index(admin, reset).await.map(drop)
    }

    /// Ends the time of being added, then tells the user's hook, as `git worktree add` does. What the hook
    /// answers changes nothing any more: the worktree is there.
    pub(crate) async fn open_for_use(&self, path: &Path, admin: &Path, rules: Rules) -> Result<(), GitError> {
        let locked = admin.join("locked");
        match std::fs::remove_file(&locked) {
            Err(e) if e.kind() != ErrorKind::NotFound => {
                return Err(GitError::Io { doing: "remove", path: locked, source: e });
            }
            _ => {}
        }
        if !rules.hook {
            return Ok(());
        }
        let worktree = self.worktree_at(path);
        let head = worktree.head().await?;
        let nothing = "0".repeat(head.len());
        let hook = worktree
            .command(Kind::User)
            .args(["hook", "run", "--ignore-missing", HOOK, "--", &nothing, &head, "1"])
            .run()
            .await?;
        if hook.exit != Some(0) {
            let said = bytes::text(&hook.stderr);
            let said = said.trim_end();
            tracing::warn!(path = %path.display(), exit = ?hook.exit, said, "the post-checkout hook failed");
        }
        Ok(())
    }
}

/// Settings under which git writes files and index in another way than `plain` does, unless they have this value;
/// with none, any value does.
const SETTINGS: [(&str, Option<bool>); 18] = [
    ("attr.tree", None),
    ("core.attributesfile", None),
    ("core.autocrlf", Some(false)),
    ("core.filemode", Some(true)),
    ("core.fsync", None),
    ("core.ignorecase", Some(false)),
    ("core.precomposeunicode", Some(false)),
    ("core.sharedrepository", None),
    ("core.sparsecheckout", Some(false)),
    ("core.splitindex", Some(false)),
    ("core.symlinks", Some(true)),
    ("core.untrackedcache", Some(false)),
    ("extensions.compatobjectformat", None),
    ("extensions.objectformat", None),
    ("extensions.partialclone", None),
    ("extensions.worktreeconfig", Some(false)),
    ("feature.manyfiles", Some(false)),
    ("index.sparse", Some(false)),
];

/// What `config --list -z` (name, line break, value) says: whether git would do nothing but write files, and
/// whether hooks may lie elsewhere than in the repository.
fn judge(listed: &[u8]) -> (bool, bool) {
    let (mut plain, mut hooks_elsewhere) = (true, false);
    for record in bytes::records(listed) {
        let record = bytes::text(record);
        // A name without a value is true.
        let (name, value) = record.split_once('\n').unwrap_or((&record, "true"));
        let value = match value.to_ascii_lowercase().as_str() {
            "true" | "yes" | "on" | "1" => Some(true),
            "false" | "no" | "off" | "0" => Some(false),
            _ => None,
        };
        plain &= match SETTINGS.iter().find(|(known, _)| *known == name) {
            Some((_, harmless)) => harmless.is_some() && value == *harmless,
            None => name != "index.version",
        };
        hooks_elsewhere |= name == "core.hookspath" || name.starts_with("hook.");
    }
    (plain, hooks_elsewhere)
}

/// Checkout processes: they wait for the disk much of the time, so more than cores pay. Measured with 20,000
/// files on 2 cores, against one: 2 save 10 %, 4 a quarter, 6 to 8 a little more.
fn checkout_workers() -> usize {
    std::thread::available_parallelism().map_or(4, |cores| cores.get() * 3).clamp(4, 24)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Sandbox;

    #[tokio::test]
    async fn rules_that_matter_are_seen() {
        let sandbox = Sandbox::new().await;
        let repo = sandbox.repo().await;
        let rules = async || repo.checkout_rules().await.unwrap();
        assert_eq!(rules().await, Rules { plain: true, hook: false });
        let cases = [
            ("core.autocrlf", "input", "false"),
            ("core.sparseCheckout", "true", "false"),
            ("core.symlinks", "false", "true"),
            ("core.untrackedCache", "keep", "no"),
            ("feature.manyFiles", "1", "off"),
            ("index.version", "4", ""),
            ("core.sharedRepository", "group", ""),
            ("core.attributesFile", "/dev/null", ""),
        ];
        for (name, matters, harmless) in cases {
            sandbox.git(&["config", name, matters]);
            assert!(!rules().await.plain, "{name}={matters}");
            if !harmless.is_empty() {
                sandbox.git(&["config", name, harmless]);
                assert!(rules().await.plain, "{name}={harmless}");
            }
            sandbox.git(&["config", "--unset", name]);
        }
        sandbox.git(&["config", "core.hooksPath", "elsewhere"]);
        assert_eq!(rules().await, Rules { plain: false, hook: true });
        sandbox.git(&["config", "--unset", "core.hooksPath"]);
        sandbox.hook("post-checkout", "true");
        assert_eq!(rules().await, Rules { plain: true, hook: true });
        sandbox.hook("post-index-change", "true");
        assert_eq!(rules().await, Rules { plain: false, hook: true });
    }

    #[tokio::test]
    async fn attributes_outside_of_the_tree_are_seen() {
        let sandbox = Sandbox::new().await;
        let repo = sandbox.repo().await;
        for place in [".gitattributes", ".git/info/attributes"] {
            sandbox.write(place, "* text\n");
            assert!(!repo.checkout_rules().await.unwrap().plain, "{place}");
            sandbox.remove(place);
            assert!(repo.checkout_rules().await.unwrap().plain);
        }
    }
}
