//! A commit that adds one file to what another commit holds, made without any checkout.

use crate::command::Kind;
use crate::error::GitError;
use crate::repo::Repo;

impl Repo {
    /// A commit on top of `parent` that has one more file; `None` when something has its path there already.
    ///
    /// Nothing moves: no ref, no index and no file of a checkout. The content goes through the filters that the
    /// repository asks for at that path, as if it had been added by hand. `author` is (name, email).
    pub async fn commit_new_file(
        &self,
        parent: &str,
        path: &str,
        content: &str,
        message: &str,
        author: Option<(&str, &str)>,
    ) -> Result<Option<String>, GitError> {
        let mut wanted: Vec<&str> = path.match_indices('/').filter_map(|(at, _)| path.get(..at)).collect();
        wanted.push(path);
        let listed = self.read().args(["ls-tree", "-z", "--full-tree", parent, "--"]).args(&wanted);
        for line in listed.text().await?.split('\0') {
            let Some((facts, name)) = line.split_once('\t') else { continue };
            if name == path {
                return Ok(None);
            }
            // Adding the file would take away what is there instead of a folder. Files beside it are listed, too.
            if wanted.contains(&name) && !facts.contains(" tree ") {
                return Err(GitError::NotAFolder { path: name.into() });
            }
        }
        let hash = self.main_worktree().command(Kind::User).args(["hash-object", "-w", "--stdin"]);
        let (oid, maker) = tokio::try_join!(
            hash.arg(format!("--path={path}")).input(content.as_bytes()).text(),
            self.commit_maker(author)
        )?;
        let tree = self.tree_with(parent, format!("100644 {oid}\t{path}\0").as_bytes()).await?;
        Ok(Some(maker.make(self, &tree, &[parent], message).await?))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::Landing;
    use crate::testing::Sandbox;

    const FILE: &str = "docs/knowledge/ü.md";

    #[tokio::test]
    async fn one_file_more_and_nothing_else_moves() {
        let sandbox = Sandbox::new().await;
        let repo = sandbox.repo().await;
        sandbox.write("a", "changed by hand");
        let before = sandbox.head();
        let author = Some(("Ada", "ada@example.com"));
        let made =
            repo.commit_new_file(&before, FILE, "# One\n", "Lesson: One", author).await.unwrap().unwrap();
        assert_eq!(sandbox.head(), before);
        let shown = sandbox.git_out(&["show", "--name-status", "-z", "--format=%an %s %P", &made]);
        assert_eq!(shown.trim_end_matches('\0'), format!("Ada Lesson: One {before}\0\nA\0{FILE}"));
        assert_eq!(repo.file_at(&made, FILE, 100).await.unwrap().unwrap(), b"# One\n");
        let again = repo.commit_new_file(&made, FILE, "# Two\n", "x", None).await.unwrap();
        assert_eq!(again, None, "what is there is not replaced");
        let beside = "docs/knowledge/b.md";
        let second = repo.commit_new_file(&made, beside, "# Two\n", "x", None).await.unwrap().unwrap();
        assert_eq!(repo.files_under(&second, "docs").await.unwrap(), [beside, FILE]);
        // It lands beside the change that is not committed.
        assert_eq!(repo.land("main", &made, &before, "lesson").await.unwrap(), Landing::Landed);
        assert_eq!(
            (sandbox.read(FILE), sandbox.read("a")),
            ("# One\n".to_owned(), "changed by hand".to_owned())
        );
        let left: Vec<_> = Path::new(repo.common_dir()).read_dir().unwrap().flatten().collect();
        assert!(left.iter().all(|entry| !entry.file_name().to_string_lossy().starts_with("forge-index")));
    }

    #[tokio::test]
    async fn a_file_in_the_place_of_the_folder_stays() {
        let sandbox = Sandbox::new().await;
        let repo = sandbox.repo().await;
        let head = sandbox.commit("odd", &[("docs", "a file")]);
        let refused = repo.commit_new_file(&head, FILE, "x", "x", None).await;
        assert!(matches!(refused, Err(GitError::NotAFolder { path }) if path == Path::new("docs")));
    }

    #[tokio::test]
    async fn the_repositorys_filters_apply() {
        let sandbox = Sandbox::new().await;
        let repo = sandbox.repo().await;
        let head = sandbox.commit("attributes", &[(".gitattributes", "*.md text eol=crlf\n")]);
        let made = repo.commit_new_file(&head, FILE, "a\r\nb\r\n", "x", None).await.unwrap().unwrap();
        assert_eq!(repo.file_at(&made, FILE, 100).await.unwrap().unwrap(), b"a\nb\n");
    }
}
