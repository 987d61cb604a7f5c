//! Who a commit is by.
//!
//! The user's configuration decides, as in their own hands. What it does not say is filled in with
//! "Forge <forge@localhost>", so that a fresh machine can work; git would refuse or guess from the host name.

use std::ffi::OsString;
use std::path::Path;

use crate::bytes;
use crate::command::Kind;
use crate::error::GitError;
use crate::repo::Repo;

const FALLBACK: [(&str, &str); 2] = [("name", "Forge"), ("email", "forge@localhost")];

impl Repo {
    /// Environment that completes the identity for commits made in `dir`.
    pub(crate) async fn identity(
        &self,
        dir: &Path,
        author: Option<(&str, &str)>,
    ) -> Result<Vec<(OsString, OsString)>, GitError> {
        let found = self
            .at(dir, Kind::Read)
            .args(["config", "-z", "--name-only", "--get-regexp", r"^(user|author|committer)\.(name|email)$"])
            .run()
            .await?;
        let configured: Vec<String> = bytes::records(&found.stdout).map(bytes::text).collect();
        let has = |role: &str, part: &str| configured.contains(&format!("{role}.{part}"));
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
                    || self.git().env_var(&variable).is_some()
                    || (part == "email" && self.git().env_var("EMAIL").is_some());
                if !known {
                    env.push((variable.into(), fallback.into()));
                }
            }
        }
        Ok(env)
    }
}
