//! What package managers and compilers share between projects, and where temporary files go: confined programs write
//! there, since installing and building would begin from nothing otherwise.
//!
//! Settings and programs that lie beside a cache (`~/.cargo/bin`, `~/.npmrc`, `~/.gradle/init.d`) are not opened: with
//! them a program could have others run what it must not.

use std::{
    fs::{self, OpenOptions},
    path::{Path, PathBuf},
};

use forge_model::environment::Variables;

use super::folder_in;

/// Where temporary files go.
pub(super) fn temporary(variables: &Variables) -> Vec<PathBuf> {
    let usual = ["/tmp", "/var/tmp", "/dev/shm"].map(PathBuf::from);
    usual.into_iter().chain(folder_in(variables, "TMPDIR")).collect()
}

/// The caches that are there, or that are made since their program cannot make them when it is confined.
pub(super) fn writable(variables: &Variables) -> Vec<PathBuf> {
    let Some(home) = folder_in(variables, "HOME").filter(|home| home.is_dir()) else { return Vec::new() };
    let of = |name: &str, usual: &str| folder_in(variables, name).unwrap_or_else(|| home.join(usual));
    let mut caches = vec![of("XDG_CACHE_HOME", ".cache"), of("npm_config_cache", ".npm")];
    let cargo = of("CARGO_HOME", ".cargo");
    let cargo_files =
        [".package-cache", ".package-cache-mutate", ".global-cache"].map(|name| cargo.join(name));
    if cargo.is_dir() {
        caches.extend(["registry", "git"].map(|name| cargo.join(name)));
        // Locks that are empty, and a database that begins empty.
        cargo_files.iter().for_each(|file| made_file(file));
    }
    caches.iter().for_each(|folder| made_folder(folder));
    caches.extend(cargo_files);
    let gradle = of("GRADLE_USER_HOME", ".gradle");
    caches.extend(
        [".tmp", "caches", "daemon", "jdks", "native", "notifications", "wrapper"]
            .map(|name| gradle.join(name)),
    );
    caches.extend(folder_in(variables, "GOMODCACHE"));
    caches.push(folder_in(variables, "GOPATH").unwrap_or_else(|| home.join("go")).join("pkg"));
    caches.push(of("NUGET_PACKAGES", ".nuget/packages"));
    let others = [
        ".bun/install/cache",
        ".bundle/cache",
        ".ccache",
        ".local/share/pnpm/store",
        ".local/share/uv",
        ".m2/repository",
        ".yarn/berry/cache",
    ];
    caches.extend(others.map(|name| home.join(name)));
    caches.retain(|path| path.exists());
    caches
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
        let opened = writable(&variables);
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
