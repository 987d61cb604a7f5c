//! The ends that the stories must come to, in Forge's own records and in git.

use std::{io, path::Path, time::Duration};

use forge_api::{
    Client as _,
    operations::{TaskExecutions, TaskGet, TaskRaces, TaskReviews},
    ops::TaskPath,
};
use forge_demo::{sample_repo::BRANCH, scenario::Story};
use forge_exec::{Caps, Collected, Command, Exit, collect};
use forge_model::{
    election::ElectionRule,
    execution::Execution,
    race::{Race, RaceStatus},
    review::Review,
    task::{AnnotationType, Task},
};

use super::stage::{Part, Stage};
use crate::error::CliError;

/// How long git may take, and how much it may print.
const PATIENCE: Duration = Duration::from_secs(60);
const CAPS: Caps = Caps { stdout: 1 << 20, stderr: 64 << 10 };

/// What is on the main branch when a story has ended well: a file, and a text in it.
const fn work(story: Story) -> Option<(&'static str, &'static str)> {
    match story {
        Story::Done => Some(("src/greetings/fr.txt", "Bonjour, NAME !")),
        Story::FailThenFix => Some(("src/goodbye.sh", "usage: goodbye.sh NAME")),
        Story::Lively => Some(("src/daytime.sh", "Good morning")),
        Story::Conflict => Some(("README.md", "kept small, for good. Newcomers are welcome!")),
        Story::ConflictFirst => Some(("README.md", "Newcomers are welcome!")),
        Story::Race => Some(("src/list.sh", "exit 0")),
        Story::Blocked => None,
    }
}

/// How a task's end differs from its story's.
pub(super) async fn differences(stage: &Stage<'_>, part: &Part) -> Result<Vec<String>, CliError> {
    let path = || TaskPath { task_id: part.id.clone() };
    let task = stage.connection.call(TaskGet, path()).await?;
    let reviews = stage.connection.call(TaskReviews, path()).await?;
    let runs = stage.connection.call(TaskExecutions, path()).await?;
    let mut found = in_records(part.story, &task, &reviews.items, &runs.items);
    if part.story == Story::Race {
        found.extend(of_race(&stage.connection.call(TaskRaces, path()).await?.items));
    }
    if part.took.is_none() {
        found.push("it neither closed nor stopped in time".to_owned());
    }
    found.extend(on_main(&stage.repo, part.story).await?);
    Ok(found.into_iter().map(|text| format!("#{} {}: {text}", part.number, part.title)).collect())
}

/// What is wrong with the repository as a whole.
pub(super) async fn repository(stage: &Stage<'_>) -> Result<Vec<String>, CliError> {
    let status = git(&stage.repo, &["status", "--porcelain"]).await?;
    let left = String::from_utf8_lossy(&status.stdout).trim().to_owned();
    let clean = status.exit == Exit::Code(0) && left.is_empty();
    Ok(if clean { Vec::new() } else { vec![format!("the repository's checkout is not clean:\n{left}")] })
}

fn in_records(story: Story, task: &Task, reviews: &[Review], runs: &[Execution]) -> Vec<String> {
    let mut found = Vec::new();
    let mut must = |holds: bool, problem: String| {
        if !holds {
            found.push(problem);
        }
    };
    let closed = task.offers.is_empty();
    let state = &task.status;
    let verdicts: Vec<&str> = reviews.iter().filter_map(|review| Some(review.verdict?.as_str())).collect();
    let attempts = runs.len();
    if story == Story::Blocked {
        let kind = task.error_annotation.as_ref().map(|trouble| trouble.kind);
        let said = kind.map_or("none", AnnotationType::as_str);
        must(
            kind == Some(AnnotationType::ReviewBudgetExhausted),
            format!("its error is {said}, not review_budget_exhausted"),
        );
        must(!closed, format!("it is closed, in {state}"));
        must(verdicts.iter().all(|verdict| *verdict == "fail"), "one of its reviews passed".to_owned());
        return found;
    }
    must(closed && state != "cancelled", format!("it is in {state}, not done"));
    if let Some(trouble) = &task.error_annotation {
        must(false, trouble.message.clone());
    }
    let last = verdicts.last().copied().unwrap_or("none");
    must(last.starts_with("pass"), format!("its last review's verdict is {last}"));
    match story {
        Story::FailThenFix => {
            must(verdicts.first() == Some(&"fail"), "its first attempt did not fail".to_owned());
            must(attempts == 2, format!("its agent ran {attempts} times, not 2"));
        }
        Story::Conflict => {
            let conflicted = runs.iter().any(|run| run.conflict.is_some());
            must(conflicted, "its merge did not conflict".to_owned());
            must(attempts == 2, format!("its agent ran {attempts} times, not 2"));
        }
        Story::Done | Story::Lively | Story::ConflictFirst => {
            must(attempts == 1, format!("its agent ran {attempts} times, not once"));
        }
        // The winner's run is shown as the task's.
        Story::Race => must(attempts == 1, format!("{attempts} runs are shown, not the winner's alone")),
        Story::Blocked => {}
    }
    found
}

/// How a race ended otherwise than it should.
fn of_race(races: &[Race]) -> Vec<String> {
    let [race] = races else { return vec![format!("it was raced {} times", races.len())] };
    let winner = race.winner.as_deref().unwrap_or_default();
    let rule = race.decided_by;
    let good = winner == "quick" && rule == Some(ElectionRule::Cost) && race.status == RaceStatus::Promoted;
    let rule = rule.map_or("", ElectionRule::as_str);
    let told = format!("{winner} won by {rule}, its race is {}", race.status);
    if good { Vec::new() } else { vec![told] }
}

/// Asks git itself, since what Forge says is what is to be proved.
async fn on_main(repo: &Path, story: Story) -> Result<Vec<String>, CliError> {
    let Some((path, text)) = work(story) else {
        let asked = git(repo, &["cat-file", "-e", &format!("{BRANCH}:src/letters.sh")]).await?;
        let there = asked.exit == Exit::Code(0);
        return Ok(there.then(|| format!("its work is on {BRANCH}")).into_iter().collect());
    };
    let shown = git(repo, &["show", &format!("{BRANCH}:{path}")]).await?;
    let there = shown.exit == Exit::Code(0) && String::from_utf8_lossy(&shown.stdout).contains(text);
    Ok((!there).then(|| format!("{path} on {BRANCH} does not say `{text}`")).into_iter().collect())
}

async fn git(repo: &Path, args: &[&str]) -> Result<Collected, CliError> {
    let mut command = Command::tool("git", repo).args(args).timeout(PATIENCE);
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY"] {
        command = command.env_remove(name);
    }
    collect(command, CAPS).await.map_err(|error| CliError::io("run git")(io::Error::other(error)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::sample;

    fn check(story: Story, task: &Task, verdicts: &[&str], runs: &[Execution]) -> Vec<String> {
        let reviews: Vec<Review> = verdicts.iter().map(|verdict| sample::review(verdict)).collect();
        in_records(story, task, &reviews, runs)
    }

    fn done() -> Task {
        sample::task(json!({ "status": "done", "offers": [] }))
    }

    #[test]
    fn a_story_that_ends_as_it_should_differs_in_nothing() {
        let run = sample::run(json!({}));
        let conflict = json!({ "target": "main", "target_commit": "c", "paths": [] });
        let conflicted = sample::run(json!({ "conflict": conflict }));
        let trouble = sample::trouble("review_budget_exhausted");
        let stuck = sample::task(json!({ "status": "blocked", "error_annotation": trouble }));
        assert_eq!(check(Story::Done, &done(), &["pass"], std::slice::from_ref(&run)), [] as [String; 0]);
        let twice = [run.clone(), run.clone()];
        assert_eq!(check(Story::FailThenFix, &done(), &["fail", "pass"], &twice), [] as [String; 0]);
        assert_eq!(
            check(Story::Conflict, &done(), &["pass", "pass_ci_only"], &[conflicted, run.clone()]),
            [] as [String; 0]
        );
        assert_eq!(check(Story::Blocked, &stuck, &["fail", "fail"], &[run]), [] as [String; 0]);
    }

    #[test]
    fn every_other_end_is_told() {
        let run = sample::run(json!({}));
        let twice = [run.clone(), run.clone()];
        assert_eq!(check(Story::Done, &done(), &["pass"], &twice), ["its agent ran 2 times, not once"]);
        assert_eq!(check(Story::FailThenFix, &done(), &["pass"], &twice), ["its first attempt did not fail"]);
        assert_eq!(check(Story::Conflict, &done(), &["pass"], &twice), ["its merge did not conflict"]);
        assert_eq!(
            check(Story::Blocked, &done(), &["pass"], &[run]),
            [
                "its error is none, not review_budget_exhausted",
                "it is closed, in done",
                "one of its reviews passed"
            ]
        );
    }
}
