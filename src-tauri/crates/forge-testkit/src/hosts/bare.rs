//! The repository of a fake host.

use std::{
    path::Path,
    process::{Command, Output},
};

use anyhow::{Context as _, Result, ensure};

use crate::repository::HERMETIC_GIT;

pub(super) fn create(path: &Path) -> Result<()> {
    std::fs::create_dir_all(path)?;
    git(path, &["init", "--quiet", "--bare", "--initial-branch", "main"]).map(drop)
}

/// The commit of a branch; none when there is no such branch.
pub(super) fn commit(path: &Path, branch: &str) -> Result<Option<String>> {
    let output = run(path, &["rev-parse", "--verify", "--quiet", &format!("refs/heads/{branch}")])?;
    output.status.success().then(|| text(output.stdout)).transpose()
}

/// Whether `inner` is in the history of `outer`.
pub(super) fn contains(path: &Path, outer: &str, inner: &str) -> Result<bool> {
    Ok(run(path, &["merge-base", "--is-ancestor", inner, outer])?.status.success())
}

/// The tree of a merge; none when it conflicts.
pub(super) fn merged_tree(path: &Path, base: &str, head: &str) -> Result<Option<String>> {
    let output = run(path, &["merge-tree", "--write-tree", base, head])?;
    output.status.success().then(|| text(output.stdout)).transpose()
}

pub(super) fn commit_tree(path: &Path, tree: &str, parents: &[String], message: &str) -> Result<String> {
    let mut args = vec!["commit-tree", tree, "-m", message];
    for parent in parents {
        args.extend(["-p", parent]);
    }
    git(path, &args)
}

pub(super) fn set_branch(path: &Path, branch: &str, commit: &str) -> Result<()> {
    git(path, &["update-ref", &format!("refs/heads/{branch}"), commit]).map(drop)
}

fn git(path: &Path, args: &[&str]) -> Result<String> {
    let output = run(path, args)?;
    ensure!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    text(output.stdout)
}

fn run(path: &Path, args: &[&str]) -> Result<Output> {
    Command::new("git").args(args).current_dir(path).envs(HERMETIC_GIT).output().context("no git")
}

fn text(bytes: Vec<u8>) -> Result<String> {
    Ok(String::from_utf8(bytes)?.trim_end().to_owned())
}
