//! A worktree made ready, against `git worktree add`.

use std::{path::Path, time::Instant};

use anyhow::Result;
use forge_git::{Git, NewWorktree, Repo};

use crate::{
    measure::Row,
    repository::{generate, git},
};

pub async fn measure(folder: &Path, files: u32, rounds: usize) -> Result<Row> {
    let path = folder.join(format!("trees-{files}"));
    generate(&path, files)?;
    let mut program = Git::discover(None).await?;
    for (name, value) in forge_testkit::HERMETIC_GIT {
        program = program.with_env(name, value);
    }
    let repo = Repo::open(&program, &path).await?;
    let base = git(&path, &["rev-parse", "main"])?;
    let (mut forge, mut plain) = (Vec::new(), Vec::new());
    for round in 0..=rounds {
        let ours = folder.join(format!("tree-ours-{round}"));
        let begun = Instant::now();
        repo.create_worktree(&NewWorktree {
            path: ours.clone(),
            branch: format!("ours/{round}"),
            base: base.clone(),
        })
        .await?;
        let by_forge = begun.elapsed().as_secs_f64() * 1000.0;
        let theirs = folder.join(format!("tree-theirs-{round}"));
        let branch = format!("theirs/{round}");
        let begun = Instant::now();
        git(&path, &["worktree", "add", "--quiet", "-b", &branch, &theirs.to_string_lossy(), &base])?;
        let by_git = begun.elapsed().as_secs_f64() * 1000.0;
        if round > 0 {
            forge.push(by_forge);
            plain.push(by_git);
        }
        repo.remove_worktree(&ours).await?.delete().await?;
        git(&path, &["worktree", "remove", "--force", &theirs.to_string_lossy()])?;
    }
    Ok(Row::new(format!("worktree ready, {files} files"), "`git worktree add`", 0.8, forge, plain))
}
