//! The scripted agent: its script, and a gate that lets it continue.

use std::{fs, path::PathBuf};

use anyhow::Result;
use forge_tests::window::Window;

use crate::fixture::ProjectFixture;

/// A project with the scripted agent.
pub async fn scripted(window: &Window) -> Result<ProjectFixture> {
    let program = forge_testkit::program("forge-scripted-agent")?;
    ProjectFixture::prepare(window, &program.to_string_lossy(), &["--prompt-file", "{prompt_file}"]).await
}

/// A block of its script; `words` say when it counts.
pub fn block(words: &str, lines: &str) -> String {
    format!("```forge-script{words}\n{lines}\n```\n")
}

/// Holds an agent until the test has seen what is there before it goes on.
pub struct Gate(PathBuf);

impl Gate {
    /// One that is closed.
    pub fn new(window: &Window, name: &str) -> Self {
        Self(window.display.folder().join(name))
    }

    /// These lines of a script, behind it.
    pub fn before(&self, lines: &str) -> String {
        format!("wait-for {}\n{lines}", self.0.display())
    }

    /// Lets the agent go on.
    pub fn open(&self) -> Result<()> {
        Ok(fs::write(&self.0, "")?)
    }
}
