//! Patches of one file, as commits on top of others. Nothing here moves a ref or touches a worktree: what git makes of
//! a patch is known, and judged, before anything changes.

use crate::bytes;
use crate::command::Kind;
use crate::error::GitError;
use crate::index::PrivateIndex;
use crate::repo::Repo;

/// Which way a patch is applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// As it is written.
    Forward,
    /// Taking it back.
    Back,
}

impl Repo {
    /// The commit that `patch` makes of `parent`, by the author given as (name, email). It must change the file `path`
    /// and nothing else, and all of it must apply.
    ///
    /// # Errors
    /// [`GitError::PatchRefused`] with git's words when it does not apply, or git would leave something out.
    pub async fn patched(
        &self,
        parent: &str,
        path: &str,
        (patch, way): (&str, Way),
        message: &str,
        author: (&str, &str),
    ) -> Result<String, GitError> {
        let refused = |reason: String| GitError::PatchRefused { reason };
        match self.mode_at(parent, path).await?.as_deref() {
            Some("100644" | "100755") => {}
            Some(_) => return Err(refused(format!("{path} is not a regular file"))),
            None => return Err(refused(format!("{path} does not exist"))),
        }
        let index = PrivateIndex::empty(self.common_dir());
        index.with(self.bare(Kind::Write)).args(["read-tree", parent]).ok().await?;
        let apply = index.with(self.bare(Kind::Write)).args(["apply", "--cached"]);
        let apply = if way == Way::Back { apply.arg("--reverse") } else { apply };
        // Asked for its numbers git only tells them, unless it is told to apply, too.
        let apply = apply.args(["--apply", "--numstat", "-z", "--whitespace=nowarn", "-"]);
        let output = apply.input(patch.as_bytes()).run().await?;
        if output.exit != Some(0) {
            return Err(refused(bytes::text(&output.stderr).trim().to_owned()));
        }
        let files: Vec<&[u8]> = bytes::records(&output.stdout).collect();
        let named = |record: &[u8]| record.splitn(3, |b| *b == b'\t').nth(2).map(<[u8]>::to_owned);
        if files.len() != 1 || named(files[0]).as_deref() != Some(path.as_bytes()) {
            return Err(refused(format!("git would change files other than {path}")));
        }
        let tree = index.with(self.bare(Kind::Write)).arg("write-tree").text().await?;
        if self.tree_of(parent).await? == tree {
            return Err(refused("it changes nothing".to_owned()));
        }
        let maker = self.commit_maker(Some(author)).await?;
        maker.make(self, &tree, &[parent], message).await
    }

    /// The name of a file's content and its mode in a commit; none when it is not there.
    pub async fn version_at(&self, commit: &str, path: &str) -> Result<Option<String>, GitError> {
        let listed = self.read().global("--literal-pathspecs").args([
            "ls-tree",
            "-z",
            "--full-tree",
            commit,
            "--",
            path,
        ]);
        let listed = listed.ok().await?;
        let entry = bytes::records(&listed).next().and_then(|record| record.split(|b| *b == b'\t').next());
        Ok(entry.map(bytes::text))
    }

    async fn mode_at(&self, commit: &str, path: &str) -> Result<Option<String>, GitError> {
        let version = self.version_at(commit, path).await?;
        Ok(version.and_then(|version| version.split(' ').next().map(str::to_owned)))
    }

    /// The name that git would give to a content.
    pub async fn name_of(&self, content: &str) -> Result<String, GitError> {
        self.bare(Kind::Read).args(["hash-object", "--stdin"]).input(content).text().await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Sandbox;

    const FORGE: (&str, &str) = ("Forge", "forge@localhost");

    fn patch(path: &str, from: &str, to: &str) -> String {
        format!("diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n@@ -1,1 +1,1 @@\n-{from}\n+{to}\n")
    }

    async fn refusal(repo: &Repo, parent: &str, path: &str, text: &str) -> String {
        match repo.patched(parent, path, (text, Way::Forward), "x", FORGE).await {
            Err(GitError::PatchRefused { reason }) => reason,
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test]
    async fn a_patch_becomes_a_commit_and_is_taken_back() {
        let sandbox = Sandbox::new().await;
        let repo = sandbox.repo().await;
        let parent = sandbox.commit("more", &[("sub/with ü", "one\n"), ("b", "b\n")]);
        sandbox.write("b", "changed by hand\n");
        let path = "sub/with ü";
        let text = format!(
            "diff --git a/{path} b/{path}\n--- a/{path}\t\n+++ b/{path}\t\n@@ -1,1 +1,1 @@\n-one\n+two\n"
        );
        let made = repo.patched(&parent, path, (&text, Way::Forward), "Fix", FORGE).await.unwrap();
        assert_eq!(sandbox.head(), parent, "nothing moves");
        assert_eq!(
            sandbox.git_out(&["show", "-s", "--format=%an %s %P", &made]),
            format!("Forge Fix {parent}")
        );
        assert_eq!(repo.file_at(&made, path, 10).await.unwrap().unwrap(), b"two\n");
        assert_eq!(repo.file_at(&made, "b", 10).await.unwrap().unwrap(), b"b\n");
        let back = repo.patched(&made, path, (&text, Way::Back), "Back", FORGE).await.unwrap();
        assert_eq!(repo.tree_of(&back).await.unwrap(), repo.tree_of(&parent).await.unwrap());
        assert_eq!(
            repo.version_at(&back, path).await.unwrap(),
            repo.version_at(&parent, path).await.unwrap()
        );
        assert_ne!(
            repo.version_at(&made, path).await.unwrap(),
            repo.version_at(&parent, path).await.unwrap()
        );
        assert_eq!(repo.version_at(&made, "gone").await.unwrap(), None);
    }

    #[tokio::test]
    async fn what_git_would_not_wholly_apply_is_refused() {
        let sandbox = Sandbox::new().await;
        let repo = sandbox.repo().await;
        std::os::unix::fs::symlink("a", repo.root().join("link")).unwrap();
        let parent = sandbox.commit("two", &[("b", "b\n")]);
        let stale = patch("a", "other", "x");
        assert!(refusal(&repo, &parent, "a", &stale).await.contains("patch does not apply"));
        let of_two = patch("a", "a", "x") + &patch("b", "b", "x");
        assert!(refusal(&repo, &parent, "a", &of_two).await.contains("files other than a"));
        let other = patch("b", "b", "x");
        assert!(refusal(&repo, &parent, "a", &other).await.contains("files other than a"));
        assert_eq!(refusal(&repo, &parent, "gone", &patch("gone", "a", "b")).await, "gone does not exist");
        assert_eq!(
            refusal(&repo, &parent, "link", &patch("link", "a", "b")).await,
            "link is not a regular file"
        );
        let outside = patch("../a", "a", "x");
        assert!(!refusal(&repo, &parent, "a", &outside).await.is_empty());
        let nothing = "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1,1 +1,1 @@\n a\n";
        assert!(!refusal(&repo, &parent, "a", nothing).await.is_empty());
        let left: Vec<_> = repo.common_dir().read_dir().unwrap().flatten().collect();
        assert!(left.iter().all(|entry| !entry.file_name().to_string_lossy().starts_with("forge-index")));
    }
}
