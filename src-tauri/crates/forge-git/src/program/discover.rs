//! Finds the git program and looks whether it is new enough.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use forge_model::environment::{EnvironmentSettings, Variables};

use super::{Git, Inner, MINIMUM_VERSION, passed};
use crate::command::{GitCommand, Kind};
use crate::error::GitError;

impl Git {
    /// Finds the git program on the path of the user's environment, or the given one, and asks for its version in a
    /// folder that exists.
    pub async fn discover(
        program: Option<PathBuf>,
        whole: Arc<Variables>,
        folder: &Path,
    ) -> Result<Git, GitError> {
        let asked = program.clone();
        let settings = EnvironmentSettings::default();
        let candidate = Git {
            inner: Arc::new(Inner {
                program: program.unwrap_or_else(|| PathBuf::from("git")),
                version: MINIMUM_VERSION,
                env: Vec::new(),
                passed: passed(&settings, &whole),
                whole,
                settings,
            }),
        };
        let said = match GitCommand::new(&candidate, folder, Kind::Read).arg("version").text().await {
            Err(GitError::Missing { source, .. }) => {
                return Err(GitError::Missing { program: asked, source });
            }
            other => other?,
        };
        let version = parse_version(&said).ok_or_else(|| GitError::Unexpected {
            args: "version".to_owned(),
            what: format!("no version in {said:?}"),
        })?;
        if version < MINIMUM_VERSION {
            let show = |(a, b, c): (u32, u32, u32)| format!("{a}.{b}.{c}");
            return Err(GitError::TooOld { found: show(version), needed: show(MINIMUM_VERSION) });
        }
        Ok(Git { inner: Arc::new(Inner { version, ..Inner::clone(&candidate.inner) }) })
    }
}

fn parse_version(said: &str) -> Option<(u32, u32, u32)> {
    let number = said.strip_prefix("git version ")?.split_whitespace().next()?;
    let mut parts = number.split('.').map(|part| {
        let digits: String = part.chars().take_while(char::is_ascii_digit).collect();
        digits.parse::<u32>().ok()
    });
    let major = parts.next()??;
    let minor = parts.next()??;
    Some((major, minor, parts.next().flatten().unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions() {
        let cases = [
            ("git version 2.47.3", Some((2, 47, 3))),
            ("git version 2.39.5 (Apple Git-154)", Some((2, 39, 5))),
            ("git version 2.45.1.windows.1", Some((2, 45, 1))),
            ("git version 2.50.0-rc1", Some((2, 50, 0))),
            ("git version 2.50.rc0", Some((2, 50, 0))),
            ("hello", None),
        ];
        for (said, expected) in cases {
            assert_eq!(parse_version(said), expected, "{said}");
        }
    }

    #[tokio::test]
    async fn a_missing_program_is_named() {
        let program = PathBuf::from("/nowhere/git");
        let found = Git::discover(Some(program.clone()), Arc::default(), Path::new("/")).await;
        assert!(matches!(found, Err(GitError::Missing { program: Some(p), .. }) if p == program));
    }

    #[tokio::test]
    async fn an_old_program_is_refused() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let program = dir.path().join("git");
        std::fs::write(&program, "#!/bin/sh\necho git version 2.37.9\n").unwrap();
        std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
        let found = Git::discover(Some(program), Arc::default(), dir.path()).await;
        assert!(matches!(found, Err(GitError::TooOld { found, .. }) if found == "2.37.9"));
    }
}
