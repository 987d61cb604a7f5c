//! Where things are, as cargo tells it.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use serde::Deserialize;

use crate::program::{output, program};

/// The members of the workspace and its folders.
#[derive(Debug, Deserialize)]
pub struct Workspace {
    /// The repository's root.
    #[serde(rename = "workspace_root")]
    pub root: PathBuf,
    #[serde(rename = "target_directory")]
    target: PathBuf,
    /// The workspace's own packages.
    pub packages: Vec<Package>,
}

/// One member.
#[derive(Debug, Deserialize)]
pub struct Package {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Where its `Cargo.toml` is.
    pub manifest_path: PathBuf,
    /// What it depends on, of all kinds.
    pub dependencies: Vec<Dependency>,
}

/// One dependency as the manifest names it.
#[derive(Debug, Deserialize)]
pub struct Dependency {
    /// The package's name.
    pub name: String,
    /// `None` is an ordinary one; else `dev` or `build`.
    pub kind: Option<String>,
    /// Set when it is in this repository.
    pub path: Option<PathBuf>,
}

impl Workspace {
    /// Asks cargo. `cargo xtask` may be started in any folder below the root.
    pub fn find() -> Result<Self> {
        let manifest = std::env::var_os("CARGO_MANIFEST_DIR")
            .context("failed to find the workspace: start me as `cargo xtask`")?;
        let arguments = ["metadata", "--no-deps", "--format-version", "1"];
        let text = output(&mut program("cargo", arguments, Path::new(&manifest)))?;
        serde_json::from_str(&text).context("failed to read `cargo metadata`")
    }

    /// The version of Forge, which all its packages share.
    pub fn version(&self) -> Result<&str> {
        Ok(&self.packages.first().context("the workspace has no packages")?.version)
    }

    /// The UI's folder.
    pub fn ui(&self) -> PathBuf {
        self.root.join("ui")
    }

    /// Where the lock file of the real agent programs is that the tests drive.
    pub fn agent_programs(&self) -> PathBuf {
        self.root.join("tests/agents/programs")
    }

    /// A program that the debug build leaves.
    pub fn built(&self, name: &str) -> PathBuf {
        self.target.join("debug").join(name)
    }

    /// A program that the release build leaves.
    pub fn released(&self, name: &str) -> PathBuf {
        self.target.join("release").join(name)
    }

    /// A program that the release build for a target leaves that is named.
    pub fn released_for(&self, target: &str, name: &str) -> PathBuf {
        self.target.join(target).join("release").join(name)
    }

    /// A place for what this tool itself writes.
    pub fn scratch(&self) -> PathBuf {
        self.target.join("xtask")
    }
}
