//! What package managers and compilers share between projects, and where temporary files go: confined programs write
//! there, since installing and building would begin from nothing otherwise.
//!
//! Settings and programs that lie beside a cache (`~/.cargo/bin`, `~/.npmrc`, `~/.gradle/init.d`) are not opened: with
//! them a program could have others run what it must not.

use std::{
    fs::{self, OpenOptions},
    path::{Path, PathBuf},
};

use forge_keeper::{Provided, ProvidedFile, ProvidedKind};
use forge_model::environment::Variables;

use super::folder_in;

/// Where temporary files go.
pub(super) fn temporary(variables: &Variables) -> Vec<PathBuf> {
    let usual = ["/tmp", "/var/tmp", "/dev/shm"].map(PathBuf::from);
    usual.into_iter().chain(folder_in(variables, "TMPDIR")).collect()
}

/// What package managers and compilers share, in the home of somebody's environment.
#[derive(Debug, Default)]
pub(super) struct Caches {
    /// Folders that are made, since a confined program cannot make them.
    made: Vec<PathBuf>,
    /// Folders that are made where the one that they belong to is there.
    parts: Vec<PathBuf>,
    /// Files that are made where their folder is there: locks that are empty, and a database that begins empty.
    locks: Vec<PathBuf>,
    /// What is opened when it is there.
    others: Vec<PathBuf>,
}

impl Caches {
    /// Those that an environment names, by their usual places where it does not.
    pub(super) fn of(variables: &Variables) -> Self {
        let Some(home) = folder_in(variables, "HOME") else { return Self::default() };
        let of = |name: &str, usual: &str| folder_in(variables, name).unwrap_or_else(|| home.join(usual));
        let made = vec![of("XDG_CACHE_HOME", ".cache"), of("npm_config_cache", ".npm")];
        let cargo = of("CARGO_HOME", ".cargo");
        let locks = [".package-cache", ".package-cache-mutate", ".global-cache"].map(|name| cargo.join(name));
        let parts = ["registry", "git"].map(|name| cargo.join(name));
        let gradle = of("GRADLE_USER_HOME", ".gradle");
        let mut others: Vec<PathBuf> =
            [".tmp", "caches", "daemon", "jdks", "native", "notifications", "wrapper"]
                .map(|name| gradle.join(name))
                .into();
        others.extend(folder_in(variables, "GOMODCACHE"));
        others.push(folder_in(variables, "GOPATH").unwrap_or_else(|| home.join("go")).join("pkg"));
        others.push(of("NUGET_PACKAGES", ".nuget/packages"));
        let usual = [
            ".bun/install/cache",
            ".bundle/cache",
            ".ccache",
            ".local/share/pnpm/store",
            ".local/share/uv",
            ".m2/repository",
            ".yarn/berry/cache",
        ];
        others.extend(usual.map(|name| home.join(name)));
        Self { made, parts: parts.into(), locks: locks.into(), others }
    }

    /// Makes on this computer what is made, and tells what is there.
    pub(super) fn make_here(self, variables: &Variables) -> Vec<PathBuf> {
        if folder_in(variables, "HOME").is_none_or(|home| !home.is_dir()) {
            return Vec::new();
        }
        let Self { made, parts, locks, others } = self;
        let belongs = |path: &&PathBuf| path.parent().is_some_and(Path::is_dir);
        made.iter().chain(parts.iter().filter(belongs)).for_each(|folder| made_folder(folder));
        locks.iter().filter(belongs).for_each(|file| made_file(file));
        let all = made.into_iter().chain(parts).chain(locks).chain(others);
        all.filter(|path| path.exists()).collect()
    }

    /// What is to be made on another machine.
    pub(super) fn provided(&self) -> Provided {
        let lock = |path: &PathBuf| ProvidedFile {
            path: path.clone(),
            content: Vec::new(),
            kind: ProvidedKind::WhereItsFolderIs,
        };
        let (folders, parts) = (self.made.clone(), self.parts.clone());
        Provided { folders, parts, files: self.locks.iter().map(lock).collect() }
    }

    /// All of them.
    pub(super) fn paths(self) -> impl Iterator<Item = PathBuf> {
        self.made.into_iter().chain(self.parts).chain(self.locks).chain(self.others)
    }
}

/// A program that finds no cache says so itself.
fn made_folder(folder: &Path) {
    if let Err(error) = fs::create_dir_all(folder) {
        tracing::debug!(folder = %folder.display(), %error, "a cache could not be made");
    }
}

fn made_file(file: &Path) {
    if let Err(error) = OpenOptions::new().append(true).create(true).open(file) {
        tracing::debug!(file = %file.display(), %error, "a file of a cache could not be made");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_and_settings_beside_a_cache_are_not_opened() {
        let home = tempfile::tempdir().unwrap();
        for folder in [".cargo/bin", ".gradle/init.d", ".gradle/caches"] {
            fs::create_dir_all(home.path().join(folder)).unwrap();
        }
        let variables = Variables::from([("HOME".into(), home.path().into())]);
        let opened = Caches::of(&variables).make_here(&variables);
        let is_open = |path: &str| opened.iter().any(|open| home.path().join(path).starts_with(open));
        for open in
            [".cargo/registry/x", ".cargo/.package-cache", ".npm/_cacache", ".cache/pip", ".gradle/caches/x"]
        {
            assert!(is_open(open), "{open}: {opened:?}");
        }
        for closed in [".cargo/bin/x", ".cargo/config.toml", ".gradle/init.d/x", ".bashrc", ".npmrc"] {
            assert!(!is_open(closed), "{closed}");
        }
        assert!(opened.iter().all(|path| path.exists()));
    }
}
