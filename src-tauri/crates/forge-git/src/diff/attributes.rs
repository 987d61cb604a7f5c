//! What `.gitattributes` say about changed files.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::key::Ends;
use super::scope::DiffScope;
use crate::bytes;
use crate::error::GitError;
use crate::repo::Repo;
use crate::worktree::Worktree;

const GENERATED: &str = "linguist-generated";
/// Attributes that change a file's content on its way into the repository.
const CONVERTING: [&str; 3] = ["filter", "ident", "working-tree-encoding"];
/// Where installations of git keep attributes for everybody.
const SYSTEM: [&str; 3] =
    ["/etc/gitattributes", "/usr/local/etc/gitattributes", "/opt/homebrew/etc/gitattributes"];

/// Files that package managers write: long, and read by nobody.
const LOCK_FILES: [&str; 22] = [
    "Cargo.lock",
    "Gemfile.lock",
    "Pipfile.lock",
    "Podfile.lock",
    "bun.lock",
    "bun.lockb",
    "composer.lock",
    "deno.lock",
    "flake.lock",
    "go.sum",
    "gradle.lockfile",
    "mix.lock",
    "npm-shrinkwrap.json",
    "package-lock.json",
    "packages.lock.json",
    "pdm.lock",
    "pixi.lock",
    "pnpm-lock.yaml",
    "poetry.lock",
    "pubspec.lock",
    "uv.lock",
    "yarn.lock",
];

/// What matters for comparing one file's contents.
#[derive(Debug, Default)]
pub(super) struct Treatment {
    /// It is stored in another form than it has in the work tree.
    pub(super) converting: bool,
    /// It is text, or is not, whatever is in it.
    pub(super) binary: Option<bool>,
}

type Values = HashMap<(Vec<u8>, String), Vec<u8>>;

impl Repo {
    /// For each path, whether a program made the file.
    pub(super) async fn generated(
        &self,
        scope: &DiffScope,
        ends: &Ends,
        paths: &[&Path],
    ) -> Result<Vec<bool>, GitError> {
        let mut values = self.attributes(scope, ends, paths, &[GENERATED]).await?;
        let by_name = |path: &Path| {
            path.file_name().and_then(|name| name.to_str()).is_some_and(|name| LOCK_FILES.contains(&name))
        };
        let mut of = |path: &Path| values.remove(&(bytes::of(path).to_vec(), GENERATED.to_owned()));
        Ok(paths
            .iter()
            .map(|path| match of(path).as_deref() {
                Some(b"set" | b"true") => true,
                Some(b"unset" | b"false") => false,
                _ => by_name(path),
            })
            .collect())
    }

    /// How the contents of one file are compared.
    pub(super) async fn treatment(
        &self,
        scope: &DiffScope,
        ends: &Ends,
        path: &Path,
    ) -> Result<Treatment, GitError> {
        let names = ["diff", CONVERTING[0], CONVERTING[1], CONVERTING[2]];
        let mut treatment = Treatment::default();
        for ((_, name), value) in self.attributes(scope, ends, &[path], &names).await? {
            if name == "diff" {
                treatment.binary = match value.as_slice() {
                    b"unset" => Some(true),
                    b"unspecified" => None,
                    _ => Some(false),
                };
            } else if !matches!(value.as_slice(), b"unspecified" | b"unset") {
                treatment.converting = true;
            }
        }
        Ok(treatment)
    }

    async fn attributes(
        &self,
        scope: &DiffScope,
        ends: &Ends,
        paths: &[&Path],
        names: &[&str],
    ) -> Result<Values, GitError> {
        if paths.is_empty() {
            return Ok(Values::new());
        }
        if let Some(worktree) = scope.worktree()
            && !worktree.may_have_attributes(paths).await?
        {
            return Ok(Values::new());
        }
        let mut command = scope.read(self);
        if let Some(head) = &ends.head
            && self.git().version() >= (2, 41, 0)
        {
            command = command.global(format!("--attr-source={head}"));
        }
        let mut input = Vec::new();
        for path in paths {
            input.extend_from_slice(bytes::of(path));
            input.push(0);
        }
        let output = command.args(["check-attr", "-z", "--stdin"]).args(names).input(input).ok().await?;
        let records: Vec<&[u8]> = bytes::records(&output).collect();
        let entry = |three: &[&[u8]]| ((three[0].to_vec(), bytes::text(three[1])), three[2].to_vec());
        Ok(records.chunks_exact(3).map(entry).collect())
    }

    /// Whether there are attributes outside of the work tree.
    pub(crate) async fn has_attributes_outside(&self) -> Result<bool, GitError> {
        let exists = |path: &Path| path.symlink_metadata().is_ok();
        let user = self.user_attributes().await?;
        Ok(exists(&self.common_dir().join("info/attributes"))
            || user.iter().any(|path| exists(path))
            || SYSTEM.iter().any(|path| exists(Path::new(path))))
    }

    /// Where the user's own attributes would be.
    async fn user_attributes(&self) -> Result<Vec<PathBuf>, GitError> {
        if self.main_worktree().settings().await?.get("core.attributesfile").is_some() {
            // git knows what the path means.
            let named =
                self.read().args(["config", "--type=path", "--get", "core.attributesFile"]).ok().await?;
            return Ok(vec![PathBuf::from(bytes::line(&named))]);
        }
        let below =
            |variable: &str, path: &str| Some(PathBuf::from(self.git().env_var(variable)?).join(path));
        let places = [below("XDG_CONFIG_HOME", "git/attributes"), below("HOME", ".config/git/attributes")];
        Ok(places.into_iter().flatten().collect())
    }
}

impl Worktree {
    /// Whether any attributes could say something about these paths. Asking git costs a process, and most
    /// repositories have none.
    async fn may_have_attributes(&self, paths: &[&Path]) -> Result<bool, GitError> {
        if self.repo().has_attributes_outside().await? {
            return Ok(true);
        }
        let exists = |path: &Path| path.symlink_metadata().is_ok();
        let mut dirs: Vec<&Path> = paths.iter().flat_map(|path| path.ancestors().skip(1)).collect();
        dirs.sort_unstable();
        dirs.dedup();
        Ok(dirs.into_iter().any(|dir| exists(&self.path().join(dir).join(".gitattributes"))))
    }
}
