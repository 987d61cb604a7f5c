//! `forge demo`: scripted agents at work on a sample repository, through the real engine, git and database.
//!
//! Each task's story has an end that it must come to ([`expect`]); the exit code says whether all did.

mod expect;
mod second_host;
mod stage;

use std::{path::PathBuf, sync::Arc, time::Duration};

use forge_demo::scenario::Story;
use forge_engine::{Observer, Work};
use serde_json::json;
use tempfile::TempDir;

use crate::{
    answer::{Answer, put},
    args::DemoMachine,
    connection,
    connection::Connection,
    error::CliError,
    place,
};
use second_host::SecondHost;
use stage::Stage;

/// The folder of the second host, in the data folder.
const SECOND_HOST: &str = "second-host";

/// A story that takes longer has gone wrong; each takes a few seconds.
const ACT_WITHIN: Duration = Duration::from_secs(180);

/// Plays the stories and says whether each came to its end.
pub(crate) async fn run(
    asked: Option<PathBuf>,
    json: bool,
    machine: Option<DemoMachine>,
    observer: Option<Arc<dyn Observer>>,
) -> Result<Answer, CliError> {
    let (data_dir, temporary) = match asked {
        Some(folder) => (place::data_dir(Some(folder))?, None),
        None => {
            let folder = tempfile::Builder::new().prefix("forge-demo-").tempdir();
            let folder = folder.map_err(CliError::io("make a temporary folder"))?;
            (folder.path().to_owned(), Some(folder))
        }
    };
    let tell = move |line: &str| {
        if !json {
            // A reader who goes away does not end the play.
            put(line);
        }
    };
    tell(&format!("Data folder: {}", data_dir.display()));
    let second_host = machine.map(|DemoMachine::Ssh| data_dir.join(SECOND_HOST));
    let api = connection::start_engine(data_dir.clone(), observer, Work::All).await?;
    let connection = Connection::Own(api);
    let played = play(&connection, second_host, &tell).await;
    connection.close().await;
    let (stage, differences) = played?;
    let good = differences.is_empty();
    let kept = keep(temporary, good);
    let mut lines = vec![String::new()];
    if good {
        lines.push(format!("All {} stories ended as expected.", stage.parts.len()));
    } else {
        lines.push("Not all stories ended as expected:".to_owned());
        lines.extend(differences.iter().map(|difference| format!("- {difference}")));
        if kept {
            lines.push(format!("Data folder: {}", data_dir.display()));
        }
    }
    let report = json!({
        "ok": good,
        "data_dir": data_dir,
        "repo_path": stage.repo,
        "duration_ms": stage.elapsed_ms(),
        "tasks": stage.report(),
        "differences": differences,
    });
    Ok(Answer { good, ..Answer::new(report, lines.join("\n")) })
}

/// The data folder of a play that went wrong is evidence.
fn keep(folder: Option<TempDir>, good: bool) -> bool {
    match folder {
        Some(folder) if !good => {
            let _path = folder.keep();
            true
        }
        Some(_) | None => false,
    }
}

async fn play<'a>(
    connection: &'a Connection,
    second_host: Option<PathBuf>,
    tell: &'a (dyn Fn(&str) + Sync),
) -> Result<(Stage<'a>, Vec<String>), CliError> {
    let mut stage = Stage::set(connection, tell).await?;
    let host = match second_host {
        Some(folder) => Some(SecondHost::start(folder, &stage.repo).await?),
        None => None,
    };
    if let Some(host) = &host {
        host.take_in(connection, &stage.project).await?;
        tell(&format!(
            "Machine:     {}, an ssh server on this computer with a home of its own",
            second_host::NAME
        ));
    }
    tell("\nThree tasks: one succeeds, one fails its check and is fixed, one gets stuck.");
    for story in [Story::Done, Story::FailThenFix, Story::Blocked] {
        stage.claim(story).await?;
    }
    stage.until_all_rest(ACT_WITHIN).await?;
    tell("\nTwo tasks change the same line. The second agent waits until the first task is merged.");
    stage.claim(Story::Conflict).await?;
    // Its worktree must begin before the other's merge, or there is nothing to conflict with.
    stage.until_at_work(Story::Conflict, ACT_WITHIN).await?;
    stage.claim(Story::ConflictFirst).await?;
    stage.until_all_rest(ACT_WITHIN).await?;
    tell("\nThree entries race for one task. One fails its check; the cheaper of the other two wins.");
    stage.claim(Story::Race).await?;
    stage.until_all_rest(ACT_WITHIN).await?;
    let mut differences = Vec::new();
    for part in &stage.parts {
        differences.extend(expect::differences(&stage, part).await?);
    }
    differences.extend(expect::repository(&stage).await?);
    drop(host);
    Ok((stage, differences))
}
