//! Refs that keep what programs made in a lent git directory and what is not put in its place.

use std::collections::BTreeMap;

use super::refs::is_valid;
use super::sandbox_prefix;
use crate::bytes;
use crate::command::GitCommand;
use crate::error::GitError;
use crate::repo::Repo;

/// Refs of these folders keep their names below the prefix; others get numbers.
const NAMED: [&str; 3] = ["heads/", "tags/", "notes/"];

impl Repo {
    /// Keeps objects under the prefix of a task, by the names of the refs that programs gave them, where these are free,
    /// else by numbers. Answers with the refs that do.
    pub(super) async fn keep_made(
        &self,
        task_key: &str,
        made: &[(Option<&str>, &str)],
    ) -> Result<Vec<String>, GitError> {
        if made.is_empty() {
            return Ok(Vec::new());
        }
        let prefix = sandbox_prefix(task_key);
        let mut known = self.below(&prefix).await?;
        let (mut kept, mut numbered, mut fresh) = (Vec::new(), Vec::new(), Vec::new());
        for (name, oid) in made {
            let wanted = name
                .and_then(|name| name.strip_prefix("refs/"))
                .filter(|name| NAMED.iter().any(|folder| name.starts_with(folder)))
                .map(|name| format!("{prefix}/{name}"))
                .filter(|name| is_valid(name));
            match wanted {
                Some(wanted) if known.get(&wanted).is_some_and(|held| held == oid) => kept.push(wanted),
                Some(wanted) if is_free(&known, &wanted) => {
                    known.insert(wanted.clone(), (*oid).to_owned());
                    fresh.push((wanted, *oid));
                }
                _ => numbered.push(*oid),
            }
        }
        let made: String = fresh.iter().map(|(name, oid)| format!("create {name} {oid}\n")).collect();
        if self.update_refs(made).await?.is_ok() {
            kept.extend(fresh.into_iter().map(|(name, _)| name));
        } else {
            // Another git may have been faster.
            numbered.extend(fresh.into_iter().map(|(_, oid)| oid));
        }
        for oid in numbered {
            kept.push(self.keep(oid, &prefix).await?);
        }
        Ok(kept)
    }

    /// Deletes all refs that keep what programs of a task made.
    ///
    /// # Errors
    /// git's errors.
    pub async fn forget_sandbox_refs(&self, task_key: &str) -> Result<(), GitError> {
        let prefix = sandbox_prefix(task_key);
        let name = prefix.clone();
        if self.locally(move |local| local.has_none_below(&name)).await.is_some() {
            return Ok(());
        }
        let known = self.below(&prefix).await?;
        let gone: String = known.iter().map(|(name, oid)| format!("delete {name} {oid}\n")).collect();
        let said = self.update_refs(gone).await?;
        let args = || format!("update-ref --stdin (delete {prefix})");
        said.map_err(|stderr| GitError::Failed { args: args(), exit: None, stderr })
    }

    async fn below(&self, prefix: &str) -> Result<BTreeMap<String, String>, GitError> {
        let listed = ["for-each-ref", "--format=%(objectname) %(refname)", &format!("{prefix}/")];
        let listed = bytes::text(&self.read().args(listed).ok().await?);
        let entries = listed.lines().filter_map(|line| {
            let (oid, name) = line.split_once(' ')?;
            Some((name.to_owned(), oid.to_owned()))
        });
        Ok(entries.collect())
    }

    /// Changes refs all at once or not at all; the inner error is what git says.
    async fn update_refs(&self, commands: String) -> Result<Result<(), String>, GitError> {
        update_refs(self.write(), commands).await
    }
}

/// Has a command change refs all at once or not at all; the inner error is what git says.
pub(super) async fn update_refs(
    command: GitCommand,
    commands: String,
) -> Result<Result<(), String>, GitError> {
    if commands.is_empty() {
        return Ok(Ok(()));
    }
    let options = ["update-ref", "--create-reflog", "-m", "forge: from a sandbox", "--stdin"];
    let output = command.args(options).input(commands).run().await?;
    Ok(if output.exit == Some(0) { Ok(()) } else { Err(bytes::text(&output.stderr).trim_end().to_owned()) })
}

/// Whether a ref can have a name beside these: none of them is it, lies below it or is above it.
fn is_free(known: &BTreeMap<String, String>, name: &str) -> bool {
    let below = format!("{name}/");
    let is_above = |at: usize| known.contains_key(&name[..at]);
    !known.contains_key(name)
        && !known.range(below.clone()..).next().is_some_and(|(next, _)| next.starts_with(&below))
        && !name.match_indices('/').any(|(at, _)| is_above(at))
}
