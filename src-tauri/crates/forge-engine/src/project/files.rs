//! Reading files of the commits on a project's default branch.

use std::collections::BTreeMap;

use forge_git::{GitError, Repo};
use forge_model::workflow::Finding;
use forge_store::table::projects::ProjectRow;

use crate::error::Result;

/// The default branch's commit; none when there is no such branch.
pub(crate) async fn default_commit(repo: &Repo, row: &ProjectRow) -> Result<Option<String>> {
    Ok(repo.resolve(&format!("refs/heads/{}", row.project.default_branch)).await?)
}

/// The text of a file in a commit; none when it is not there. The inner error is what is wrong with it.
pub(crate) async fn text_at(
    repo: &Repo,
    commit: &str,
    file: &str,
) -> Result<std::result::Result<Option<String>, Finding>> {
    let content = match repo.file_at(commit, file, MAX_FILE_BYTES).await {
        Err(GitError::TooLarge { size, .. }) => {
            let message = format!("{file} has {size} bytes; at most {MAX_FILE_BYTES} are allowed");
            return Ok(Err(Finding::new("", message)));
        }
        other => other?,
    };
    let Some(content) = content else { return Ok(Ok(None)) };
    let short = commit.get(..10).unwrap_or(commit);
    Ok(String::from_utf8(content)
        .map(Some)
        .map_err(|_| Finding::new("", format!("{file} in commit {short} is not UTF-8 text"))))
}

/// The files of a commit's root that have one of these names, with their texts: empty for what is no text, or too long.
pub(crate) async fn root_texts(
    repo: &Repo,
    commit: &str,
    names: &[&str],
) -> Result<BTreeMap<String, String>> {
    let mut found = BTreeMap::new();
    for (name, oid) in repo.root_files(commit).await? {
        if names.contains(&name.as_str()) {
            let content = match repo.blob(&oid, MAX_FILE_BYTES).await {
                Err(GitError::TooLarge { .. }) => Vec::new(),
                other => other?,
            };
            found.insert(name, String::from_utf8(content).unwrap_or_default());
        }
    }
    Ok(found)
}

/// A file larger than this is none of these.
pub(crate) const MAX_FILE_BYTES: u64 = 1024 * 1024;
