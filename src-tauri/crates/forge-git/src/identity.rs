//! Who a commit is by.
//!
//! The user's configuration decides, as in their own hands. What it does not say is filled in with
//! "Forge <forge@localhost>", so that a fresh machine can work; git would refuse or guess from the host name.

use std::ffi::OsString;

use crate::error::GitError;
use crate::worktree::Worktree;

const FALLBACK: [(&str, &str); 2] = [("name", "Forge"), ("email", "forge@localhost")];

/// The variables by which an environment says who commits.
const BY_ENVIRONMENT: [&str; 5] =
    ["GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL", "EMAIL"];

impl Worktree {
    /// Variables for a program that commits in it on its own: what the user's configuration does not say about
    /// the identity, as Forge's own commits have it. Empty where the user's is whole.
    pub async fn missing_identity(
        &self,
        author: Option<(&str, &str)>,
    ) -> Result<Vec<(String, String)>, GitError> {
        let missing = self.identity(None).await?;
        let text = |text: OsString| text.to_string_lossy().into_owned();
        Ok(missing
            .into_iter()
            .map(|(name, value)| (text(name), text(value)))
            .map(|(name, value)| {
                let given = match (name.as_str(), author) {
                    ("GIT_AUTHOR_NAME", Some((given, _))) | ("GIT_AUTHOR_EMAIL", Some((_, given))) => given,
                    _ => return (name, value),
                };
                (name, given.to_owned())
            })
            .collect())
    }

    /// The same for a program on another machine, where the worktree's settings are, and this process's environment is not.
    pub async fn identity_elsewhere(
        &self,
        author: Option<(&str, &str)>,
    ) -> Result<Vec<(String, String)>, GitError> {
        let mut identity = self.missing_identity(author).await?;
        for name in BY_ENVIRONMENT {
            let is_given = identity.iter().any(|(given, _)| given == name);
            if let Some(value) = self.repo().git().env_var(name).filter(|_| !is_given) {
                identity.push((name.to_owned(), value.to_string_lossy().into_owned()));
            }
        }
        Ok(identity)
    }

    /// Environment that completes the identity for commits made in it.
    pub(crate) async fn identity(
        &self,
        author: Option<(&str, &str)>,
    ) -> Result<Vec<(OsString, OsString)>, GitError> {
        let settings = self.settings().await?;
        let has = |role: &str, part: &str| settings.get(&format!("{role}.{part}")).is_some();
        let mut env = Vec::new();
        for role in ["author", "committer"] {
            for (part, fallback) in FALLBACK {
                let variable = format!("GIT_{}_{}", role.to_uppercase(), part.to_uppercase());
                let given = author.filter(|_| role == "author");
                if let Some((name, email)) = given {
                    let value = if part == "name" { name } else { email };
                    env.push((variable.into(), value.into()));
                    continue;
                }
                let known = has(role, part)
                    || has("user", part)
                    || self.repo().git().env_var(&variable).is_some()
                    || (part == "email" && self.repo().git().env_var("EMAIL").is_some());
                if !known {
                    env.push((variable.into(), fallback.into()));
                }
            }
        }
        Ok(env)
    }
}
