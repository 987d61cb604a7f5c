//! What of a worktree another machine has to know, and which worktrees cannot travel.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use forge_transfer::{Fault, Manner, Side, Tree};

use crate::bytes;
use crate::command::{Kind, REPOSITORY_VARIABLES};
use crate::error::GitError;
use crate::settings::{Settings, expanded};
use crate::worktree::Worktree;

/// Settings that change what git does with contents and messages, and neither run a program nor lead anywhere.
const SETTINGS: [&str; 32] = [
    "author.email",
    "author.name",
    "branch.autosetuprebase",
    "commit.cleanup",
    "commit.verbose",
    "committer.email",
    "committer.name",
    "core.abbrev",
    "core.autocrlf",
    "core.checkstat",
    "core.commentchar",
    "core.eol",
    "core.filemode",
    "core.ignorecase",
    "core.precomposeunicode",
    "core.quotepath",
    "core.safecrlf",
    "core.sparsecheckout",
    "core.sparsecheckoutcone",
    "core.symlinks",
    "core.trustctime",
    "core.whitespace",
    "i18n.commitencoding",
    "init.defaultbranch",
    "pull.ff",
    "pull.rebase",
    "rebase.autosquash",
    "rebase.autostash",
    "rebase.updaterefs",
    "rerere.enabled",
    "user.email",
    "user.name",
];
/// Sections of which all settings with two parts are such, but for these.
const SECTIONS: [&str; 2] = ["diff.", "merge."];
const PROGRAMS: [&str; 6] =
    ["diff.external", "diff.guitool", "diff.orderfile", "diff.tool", "merge.guitool", "merge.tool"];
/// What everybody's configuration may say of attributes.
const SYSTEM_ATTRIBUTES: [&str; 3] =
    ["/etc/gitattributes", "/usr/local/etc/gitattributes", "/opt/homebrew/etc/gitattributes"];
const DRIVERS: [&str; 3] = [".clean", ".smudge", ".process"];

impl Worktree {
    /// The worktree as one end of a transfer. Its git directory is lent in `lent`; `store` is where git runs for the
    /// transfers, out of the programs' reach and kept between them. The inner error says why it cannot travel.
    pub async fn transferable(&self, lent: &Path, store: &Path) -> Result<Result<Tree, Fault>, GitError> {
        let settings = self.settings().await?;
        if let Some(fault) = self.refusal_to_travel(&settings).await? {
            return Ok(Err(fault));
        }
        let git = self.repo().git();
        let mut environment = (*git.variables(false)).clone();
        environment.extend(git.env().iter().cloned());
        environment.retain(|name, _| !REPOSITORY_VARIABLES.iter().any(|known| name == OsStr::new(known)));
        let common = self.repo().common_dir().to_owned();
        let (home, path) = (git.env_var("HOME"), self.path().to_owned());
        let config_home = git.env_var("XDG_CONFIG_HOME");
        let known = Arc::clone(&settings);
        let info = common.join("info/attributes");
        let (excludes, converts) = tokio::task::spawn_blocking(move || {
            let home = home.as_deref().map(Path::new);
            let standing = |name: &str| {
                let folder = config_home.as_deref().filter(|folder| !folder.is_empty()).map(Path::new);
                let folder = folder.map(Path::to_owned).or_else(|| Some(home?.join(".config")));
                folder.map(|folder| folder.join("git").join(name))
            };
            let named = |setting: &str, name: &str| match known.get(setting) {
                Some(said) => expanded(said, &path, home),
                None => standing(name),
            };
            let excludes = named("core.excludesfile", "ignore").and_then(|file| fs::read(file).ok());
            let attributes = named("core.attributesfile", "attributes");
            let converts = !matches!(known.get("core.autocrlf"), None | Some("false" | "no" | "off" | "0"))
                || attributes.is_some_and(|file| file.exists())
                || info.exists()
                || SYSTEM_ATTRIBUTES.iter().any(|file| Path::new(file).exists());
            (excludes.unwrap_or_default(), converts)
        })
        .await?;
        let is_sha256 = settings.get("extensions.objectformat").is_some_and(|name| name == "sha256");
        Ok(Ok(Tree {
            worktree: self.path().to_owned(),
            git_dir: lent.to_owned(),
            store: store.to_owned(),
            objects: vec![common.join("objects")],
            program: git.program().as_os_str().to_owned(),
            environment: Arc::new(environment),
            manner: Some(Manner { settings: travelling(&settings), excludes, is_sha256, converts }),
            side: Side::Lent,
        }))
    }

    async fn refusal_to_travel(&self, settings: &Settings) -> Result<Option<Fault>, GitError> {
        let listed = self.command(Kind::Read).args(["ls-files", "-z", "--stage"]).ok().await?;
        for record in bytes::records(&listed).filter(|record| record.starts_with(b"160000 ")) {
            let Some(at) = record.iter().position(|byte| *byte == b'\t') else { continue };
            let path = bytes::path(&record[at + 1..]);
            if self.path().join(path).join(".git").symlink_metadata().is_ok() {
                return Ok(Some(Fault::Submodule { path: path.display().to_string() }));
            }
        }
        let drivers: Vec<&str> = settings
            .values()
            .iter()
            .filter(|(_, program)| !program.is_empty())
            .filter_map(|(name, _)| {
                let name = name.strip_prefix("filter.")?;
                DRIVERS.iter().find_map(|end| name.strip_suffix(end))
            })
            .collect();
        if drivers.is_empty() {
            return Ok(None);
        }
        let paths: Vec<u8> = bytes::records(&listed)
            .filter_map(|record| record.splitn(2, |byte| *byte == b'\t').nth(1))
            .flat_map(|path| [path, b"\0"].concat())
            .collect();
        let asked = self.command(Kind::Read).args(["check-attr", "-z", "--stdin", "filter"]);
        let asked = asked.input(paths).ok().await?;
        let values: Vec<&[u8]> = bytes::records(&asked).skip(2).step_by(3).collect();
        let used = drivers.into_iter().find(|driver| values.contains(&driver.as_bytes()));
        Ok(used.map(|name| Fault::Filter { name: name.to_owned() }))
    }
}

/// The settings that programs find on another machine, too; the last of a name counts.
fn travelling(settings: &Settings) -> Vec<(String, String)> {
    let travels = |name: &str| {
        SETTINGS.contains(&name)
            || SECTIONS.iter().any(|section| name.starts_with(section))
                && name.matches('.').count() == 1
                && !PROGRAMS.contains(&name)
    };
    settings.values().iter().filter(|(name, _)| travels(name)).cloned().collect()
}
