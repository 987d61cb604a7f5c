//! `validate` as an operation and in reviews: its checks, its attempts and their files.

mod attempts;
mod checks;
mod folders;
mod gate;
mod identity;

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use forge_testkit::{Board, board::with, caller::refused};
use reqwest::Method;
use serde_json::{Value, json};

/// A project whose repository is validated.
struct ValidateFixture {
    board: Board,
}

impl ValidateFixture {
    async fn new() -> Result<Self> {
        Ok(Self { board: Board::new(json!({})).await? })
    }

    fn repo(&self) -> &Path {
        self.board.folder.repo.path()
    }

    fn write(&self, name: &str, content: &str) -> Result<()> {
        self.board.folder.repo.write(name, content)
    }

    /// A call for the module `m1` in the repository.
    fn call(&self, more: &Value) -> Value {
        with(json!({ "moduleId": "m1", "cwd": self.repo(), "commands": [] }), more)
    }

    async fn validate(&self, more: Value) -> Result<Value> {
        self.board.engine.post("/validate", self.call(&more)).await
    }

    async fn refuse(&self, more: Value) -> Result<(u16, Value)> {
        refused(self.board.engine.request(Method::POST, "/validate").json(&self.call(&more))).await
    }

    async fn state(&self, query: &str) -> Result<Value> {
        let cwd = self.repo().display();
        self.board.engine.get(&format!("/validate/state?moduleId=m1&cwd={cwd}{query}")).await
    }

    /// The file with the attempts of a module.
    fn attempts_file(&self, name: &str) -> PathBuf {
        self.repo().join(".forge/iterations").join(name)
    }

    /// The lines of the log of a run.
    fn log(&self, run: &str) -> Result<Vec<Value>> {
        let file = self.repo().join(".forge/logs").join(format!("{run}.jsonl"));
        let text = std::fs::read_to_string(&file).with_context(|| format!("no {}", file.display()))?;
        text.lines().map(|line| Ok(serde_json::from_str(line)?)).collect()
    }
}

/// The checks of a report with their results.
fn check_results(report: &Value) -> Vec<(String, Value)> {
    let results = report["results"].as_array().cloned().unwrap_or_default();
    results
        .into_iter()
        .map(|it| (it["type"].as_str().unwrap_or_default().to_owned(), it["passed"].clone()))
        .collect()
}
