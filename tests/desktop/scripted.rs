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

/// A block of its script; `words` say when it applies.
pub fn block(words: &str, lines: &str) -> String {
    format!("```forge-script{words}\n{lines}\n```\n")
}

/// A gate that holds an agent until the test opens it.
pub struct Gate(PathBuf);

impl Gate {
    /// A closed gate.
    pub fn new(window: &Window, name: &str) -> Self {
        Self(window.display.folder().join(name))
    }

    /// Script lines that run after the gate is opened.
    pub fn before(&self, lines: &str) -> String {
        format!("wait-for {}\n{lines}", self.0.display())
    }

    /// Lets the agent continue.
    pub fn open(&self) -> Result<()> {
        Ok(fs::write(&self.0, "")?)
    }
}
