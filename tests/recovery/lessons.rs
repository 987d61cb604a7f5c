//! Kills and panics around the lessons and the debrief of a finished task, and around accepting a lesson: each
//! exists once.

use anyhow::{Context as _, Result, ensure};
use forge_testkit::Repository;
use forge_testkit::caller::id;
use forge_testkit::serve::{Serve, Served};
use forge_tests::patience::{until, until_there};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::faults::{Fault, all_survived, panicked};

const SAID: &str =
    "```forge-lesson\ntitle: Tokens\n\nThey expire.\n```\n```forge-lesson\ntitle: Dates\n\nIn UTC.\n```\n";
const NOTE: &str = "```forge-trajectory\nIt went well.\n```\n";
const FILE: &str = "docs/knowledge/tokens.md";

/// The source of the lessons.
#[derive(Clone, Copy, PartialEq)]
enum LessonSource {
    Action,
    Plugin,
    /// All parts of the inner loop.
    Loop,
}

struct LessonFixture {
    server: Served,
    dir: TempDir,
    repo: Repository,
    project: String,
    task: String,
}

impl LessonFixture {
    /// A project with lessons, and a task whose command prints two.
    async fn start(fault: Fault, point: &str, source: LessonSource) -> Result<Self> {
        let dir = tempfile::tempdir()?;
        let repo = Repository::create(&dir.path().join("repo"), &[("README.md", "# Sample\n")])?;
        let words = dir.path().join("words.txt");
        std::fs::write(&words, format!("{SAID}{NOTE}"))?;
        let data = dir.path().join("data");
        let server = Serve { program: "forge-faulty", data, env: fault.at(point, 1) }.start()?;
        let command = format!("cat '{}'; echo x > work.txt", words.display());
        let config = json!({ "command": "sh", "args": ["-c", command] });
        let agent = json!({ "name": "Plain", "adapter": "shell", "config": config });
        let agent = id(&server.post("/agents", agent).await?)?;
        let plugin = json!([{ "type": "plugin", "name": "knowledge-capture" }]);
        let on = json!({ "enabled": source == LessonSource::Loop });
        let settings = json!({
            "auto_approve": true,
            "lifecycle_hooks": { "on_task_done": if source == LessonSource::Plugin { plugin } else { json!([]) } },
            "innerLoop": { "knowledge": on, "trajectory": on, "postmortem": on },
        });
        let mut workflow = forge_model_default()?;
        if source == LessonSource::Action {
            let states = workflow["states"].as_array_mut().context("no states")?;
            let done = states.iter_mut().find(|state| state["name"] == "done").context("no done")?;
            let actions = done["hooks"]["on_enter"].as_array_mut().context("no actions")?;
            actions.insert(0, json!({ "action": "knowledge-capture" }));
        }
        let new = json!({
            "name": "sample", "repo_path": repo.path(), "settings": settings, "workflow": workflow,
        });
        let project = id(&server.post("/projects", new).await?)?;
        let new = json!({ "title": "Teach", "roles": { "coder": agent } });
        let task = server.post(&format!("/projects/{project}/tasks"), new).await?;
        let claim = json!({ "agent_id": agent, "version": task["version"] });
        // The server may be killed while it answers.
        let _ = server.post(&format!("/tasks/{}/claim", id(&task)?), claim).await;
        Ok(Self { dir, repo, server, project, task: id(&task)? })
    }

    /// Waits for the fault; after a kill it starts another server.
    async fn restart_after_fault(&mut self, fault: Fault, point: &str) -> Result<()> {
        if fault == Fault::Panic {
            let data = self.dir.path().join("data");
            return until("the panic", async || Ok(panicked(&data, point).ok())).await;
        }
        self.server.until_gone().await?;
        let data = self.dir.path().join("data");
        self.server = Serve { program: "forge-faulty", data, env: Vec::new() }.start()?;
        Ok(())
    }

    async fn run_to_done(&self) -> Result<()> {
        let over = |task: &Value| task["status"] == "done" && task["workspace"]["status"] == "cleaned";
        self.server.wait(&self.task, "done", over).await.map(drop)
    }

    async fn lessons(&self, status: &str) -> Result<Vec<Value>> {
        let page = self.server.get(&format!("/projects/{}/knowledge?status={status}", self.project)).await?;
        Ok(page["items"].as_array().context("no items")?.clone())
    }

    async fn accept(&self, title: &str) -> Result<Value> {
        let all = [self.lessons("proposed").await?, self.lessons("accepted").await?].concat();
        let lesson = all.iter().find(|one| one["title"] == title).context("no such lesson")?;
        let path = format!("/projects/{}/knowledge/{}/accept", self.project, id(lesson)?);
        self.server.post(&path, json!({})).await
    }
}

fn forge_model_default() -> Result<Value> {
    let presets = forge_model::workflow::presets();
    let default = presets.iter().find(|preset| preset.name == "default").context("no default")?;
    Ok(serde_json::to_value(default.workflow())?)
}

async fn proposes_once(fault: Fault, point: &str, source: LessonSource) -> Result<()> {
    let mut fixture = LessonFixture::start(fault, point, source).await?;
    fixture.restart_after_fault(fault, point).await?;
    fixture.run_to_done().await?;
    let mut titles: Vec<Value> =
        fixture.lessons("proposed").await?.iter().map(|one| one["title"].clone()).collect();
    titles.sort_by_key(Value::to_string);
    ensure!(titles == ["Dates", "Tokens"], "{titles:?}");
    let moves = fixture.server.get(&format!("/tasks/{}/transitions", fixture.task)).await?;
    let said = moves.to_string().matches("2 lessons proposed").count();
    ensure!(said == 1, "told {said} times: {moves:#}");
    Ok(())
}

async fn lessons_are_proposed_once(fault: Fault) -> Result<()> {
    let mut cases = Vec::new();
    for (by_plugin, name) in [(0, "knowledge-capture"), (1, "on_task_done[0]")] {
        for point in ["step.begin:", "lessons.found", "step.ran:", "step.end:"] {
            let name = if point.ends_with(':') { name } else { "" };
            cases.push((format!("{point}{name}"), by_plugin));
        }
    }
    all_survived(cases, move |point, by_plugin| async move {
        proposes_once(fault, &point, if by_plugin == 1 { LessonSource::Plugin } else { LessonSource::Action })
            .await
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn lessons_are_proposed_once_after_a_kill_at_any_fault_point() -> Result<()> {
    lessons_are_proposed_once(Fault::Kill).await
}

#[tokio::test(flavor = "multi_thread")]
async fn lessons_are_proposed_once_after_a_panic_at_any_fault_point() -> Result<()> {
    lessons_are_proposed_once(Fault::Panic).await
}

#[tokio::test(flavor = "multi_thread")]
async fn accepted_lesson_lands_once_after_a_kill_at_any_fault_point() -> Result<()> {
    accepted_lesson_lands_once(Fault::Kill).await
}

#[tokio::test(flavor = "multi_thread")]
async fn accepted_lesson_lands_once_after_a_panic_at_any_fault_point() -> Result<()> {
    accepted_lesson_lands_once(Fault::Panic).await
}

async fn accepted_lesson_lands_once(fault: Fault) -> Result<()> {
    for (point, landed) in [("lesson.intended", false), ("lesson.landed", true)] {
        let mut fixture = LessonFixture::start(fault, point, LessonSource::Plugin).await?;
        fixture.run_to_done().await?;
        ensure!(fixture.accept("Tokens").await.is_err(), "{point} was not passed");
        fixture.restart_after_fault(fault, point).await?;
        if landed && fault == Fault::Kill {
            // Settled at start, without anybody's word.
            until("the lesson that landed", async || {
                Ok(fixture.lessons("accepted").await?.into_iter().find(|one| one["id"].is_string()))
            })
            .await?;
            ensure!(fixture.lessons("proposed").await?.len() == 1, "it is proposed and kept");
        } else if !landed {
            ensure!(
                fixture.repo.show("main", FILE).is_none() && fixture.lessons("proposed").await?.len() == 2
            );
        }
        let accepted = fixture.accept("Tokens").await?;
        ensure!(accepted["file"] == FILE, "{accepted:#}");
        let subjects = fixture.repo.git(&["log", "--format=%s", "main"])?;
        let times = subjects.lines().filter(|line| line.starts_with("Lesson: Tokens")).count();
        ensure!(times == 1, "{point}: landed {times} times:\n{subjects}");
        ensure!(
            fixture.lessons("accepted").await?.len() == 1 && fixture.lessons("proposed").await?.len() == 1
        );
        ensure!(fixture.repo.path().join(FILE).is_file(), "the checkout did not move along");
    }
    Ok(())
}

async fn debriefs_once(fault: Fault, point: &str) -> Result<()> {
    let mut fixture = LessonFixture::start(fault, point, LessonSource::Loop).await?;
    fixture.restart_after_fault(fault, point).await?;
    fixture.run_to_done().await?;
    let left = fixture.server.get(&format!("/tasks/{}/debrief", fixture.task)).await?;
    ensure!(left["note"]["text"] == "It went well.", "{left:#}");
    let records = left["postmortems"].as_array().context("no list")?;
    ensure!(records.len() == 1 && records[0]["cause"] == "task_closed", "{left:#}");
    ensure!(fixture.lessons("proposed").await?.len() == 2, "the lessons beside it");
    for file in [format!("trajectories/{}.md", fixture.task), format!("postmortems/{}-1.json", fixture.task)]
    {
        until_there(&fixture.repo.path().join(".forge").join(file)).await?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn task_is_debriefed_once_after_a_kill_at_any_fault_point() -> Result<()> {
    task_is_debriefed_once(Fault::Kill).await
}

#[tokio::test(flavor = "multi_thread")]
async fn task_is_debriefed_once_after_a_panic_at_any_fault_point() -> Result<()> {
    task_is_debriefed_once(Fault::Panic).await
}

async fn task_is_debriefed_once(fault: Fault) -> Result<()> {
    let points = ["step.begin:debrief", "debrief.kept", "step.ran:debrief", "step.end:debrief"];
    let cases = points.map(|point| (point.to_owned(), 1)).to_vec();
    all_survived(cases, move |point, _| async move { debriefs_once(fault, &point).await }).await
}
