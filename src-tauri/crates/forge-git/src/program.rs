//! The git program: which one, which version, and the environment that it starts from.
//!
//! git runs hooks, filters and signing programs, and these may run files that agents wrote. So git gets what the
//! environment policy passes (`forge-model/environment.rs`), as every program of a project does, and with it what git
//! itself is set up by. Only commands that talk to a remote get all of it: helpers for credentials need their keys.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use forge_model::environment::{EnvironmentPolicy, EnvironmentSettings, Variables, looks_secret};

mod discover;

/// The oldest git that can merge without a work tree.
pub const MINIMUM_VERSION: (u32, u32, u32) = (2, 38, 0);

/// A git program that is new enough. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Git {
    inner: Arc<Inner>,
}

#[derive(Debug, Clone)]
struct Inner {
    program: PathBuf,
    version: (u32, u32, u32),
    /// What is set on top.
    env: Vec<(OsString, OsString)>,
    /// The user's whole environment.
    whole: Arc<Variables>,
    settings: EnvironmentSettings,
    /// What the settings pass of it.
    passed: Arc<Variables>,
}

/// Variables that git and the programs that sign find their settings and agents by. They are passed in every mode.
const NAMES: [&str; 5] = ["EMAIL", "GNUPGHOME", "GPG_TTY", "SSH_AGENT_PID", "SSH_AUTH_SOCK"];
/// How the names of git's own variables begin.
const PREFIX: &str = "GIT_";

impl Git {
    /// Its version.
    pub fn version(&self) -> (u32, u32, u32) {
        self.inner.version
    }

    /// The same program with one more environment variable.
    #[must_use]
    pub fn with_env(self, key: impl Into<OsString>, value: impl Into<OsString>) -> Git {
        let mut inner = Arc::unwrap_or_clone(self.inner);
        inner.env.push((key.into(), value.into()));
        Git { inner: Arc::new(inner) }
    }

    /// The same program with this as the user's environment, instead of this process's own.
    #[must_use]
    pub fn with_variables(self, whole: Arc<Variables>) -> Git {
        let mut inner = Arc::unwrap_or_clone(self.inner);
        inner.passed = passed(&inner.settings, &whole);
        inner.whole = whole;
        Git { inner: Arc::new(inner) }
    }

    /// The same program, which gets what these settings pass of the user's environment.
    #[must_use]
    pub fn passing(&self, settings: &EnvironmentSettings) -> Git {
        if self.inner.settings == *settings {
            return self.clone();
        }
        let mut inner = Inner::clone(&self.inner);
        inner.passed = passed(settings, &inner.whole);
        inner.settings = settings.clone();
        Git { inner: Arc::new(inner) }
    }

    pub(crate) fn program(&self) -> &Path {
        &self.inner.program
    }

    pub(crate) fn env(&self) -> &[(OsString, OsString)] {
        &self.inner.env
    }

    /// The environment that a command starts from; all of it for one that talks to a remote.
    pub(crate) fn variables(&self, all: bool) -> Arc<Variables> {
        Arc::clone(if all { &self.inner.whole } else { &self.inner.passed })
    }

    /// A variable as the git program will see it.
    pub(crate) fn env_var(&self, key: &str) -> Option<OsString> {
        let key = OsStr::new(key);
        let ours = self.inner.env.iter().rev().find(|(k, _)| k.as_os_str() == key).map(|(_, v)| v);
        ours.or_else(|| self.inner.passed.get(key)).filter(|v| !v.is_empty()).cloned()
    }
}

/// What settings pass of the user's environment to git.
fn passed(settings: &EnvironmentSettings, whole: &Variables) -> Arc<Variables> {
    let of_git = whole.keys().filter(|name| !looks_secret(name)).filter_map(|name| name.to_str());
    let of_git = of_git.filter(|name| name.starts_with(PREFIX));
    let policy = EnvironmentPolicy::of(settings).passing(NAMES).passing(of_git);
    Arc::new(policy.apply(whole).passed)
}

#[cfg(test)]
mod tests {
    use forge_model::environment::EnvironmentMode;

    use super::*;

    #[test]
    fn git_gets_what_it_is_set_up_by_in_every_mode_and_no_secret() {
        let given = ["GIT_CONFIG_GLOBAL", "GIT_TOKEN", "GNUPGHOME", "HOME", "NPM_TOKEN", "SSH_AUTH_SOCK"];
        let whole: Variables = given.iter().map(|name| (name.into(), "x".into())).collect();
        for mode in [EnvironmentMode::Safe, EnvironmentMode::Minimal] {
            let settings = EnvironmentSettings { mode, pass: Vec::new() };
            let passed = passed(&settings, &whole);
            let names: Vec<_> = passed.keys().filter_map(|name| name.to_str()).collect();
            assert_eq!(names, ["GIT_CONFIG_GLOBAL", "GNUPGHOME", "HOME", "SSH_AUTH_SOCK"], "{mode}");
        }
    }
}
