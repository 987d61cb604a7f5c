//! Lessons: a command prints them, the finished task proposes them, a person accepts them into the
//! repository, and the next agent reads them.

use std::path::PathBuf;

use anyhow::{Context as _, Result, ensure};
use forge_testkit::{
    Folder, LocalEngine,
    board::text,
    caller::{good, refused},
};
use reqwest::Method;
use serde_json::{Value, json};

const SAID: &str = "\
I am done.
```forge-lesson
title: The login token expires
paths: src/login.rs

Renew the login token after an hour.
```
```forge-lesson
title: Out of bounds
paths: ../../etc

Never mind.
```
Bye.
";
const OUTCOME: &str =
    "1 lesson proposed; refused: \"Out of bounds\": paths[0] `../../etc` leads out of the repository";

/// The source of a project's lessons.
#[derive(Clone, Copy, PartialEq)]
enum LessonSource {
    Action,
    Plugin,
}

struct KnowledgeFixture {
    engine: LocalEngine,
    folder: Folder,
    project: String,
    agent: String,
}

impl KnowledgeFixture {
    /// A project with lessons, and an agent command that prints a file and changes another.
    async fn new(by: LessonSource) -> Result<Self> {
        let sandbox = Folder::new()?;
        let engine = LocalEngine::start(sandbox.dir.path(), |_| {}).await?;
        let plugin = json!({ "type": "plugin", "name": "knowledge-capture" });
        let done = if by == LessonSource::Plugin { json!([plugin]) } else { json!([]) };
        let inject = json!([{ "type": "plugin", "name": "knowledge-inject" }]);
        let settings = json!({
            "auto_approve": true, "lifecycle_hooks": { "before_work": inject, "on_task_done": done },
        });
        let (project, _) = engine.project(&sandbox.repo, settings).await?;
        if by == LessonSource::Action {
            let path = format!("/projects/{project}/workflow");
            let mut workflow = engine.get(&path).await?["workflow"].take();
            let states = workflow["states"].as_array_mut().context("no states")?;
            let done = states.iter_mut().find(|state| state["name"] == "done").context("no done")?;
            let actions = done["hooks"]["on_enter"].as_array_mut().context("no actions")?;
            actions.insert(0, json!({ "action": "knowledge-capture" }));
            let put = engine.request(Method::PUT, &path).json(&json!({ "workflow": workflow }));
            good(put.send().await?)?;
        }
        let fixture = Self { folder: sandbox, engine, project, agent: String::new() };
        fixture.set_output(SAID)?;
        let command = format!("cat '{}'; echo x >> work.txt", fixture.output_file().display());
        let config = json!({ "command": "sh", "args": ["-c", command] });
        let new = json!({ "name": "Plain", "adapter": "shell", "config": config });
        let agent = text(&fixture.engine.post("/agents", new).await?, "id");
        Ok(Self { agent, ..fixture })
    }

    fn output_file(&self) -> PathBuf {
        self.folder.dir.path().join("words.txt")
    }

    /// Sets the output of agents that start from now on.
    fn set_output(&self, words: &str) -> Result<()> {
        Ok(std::fs::write(self.output_file(), words)?)
    }

    async fn claimed_task(&self, title: &str) -> Result<Value> {
        let new = json!({ "title": title, "roles": { "coder": self.agent } });
        let task = self.engine.task(&self.project, new).await?;
        let claim = json!({ "agent_id": self.agent, "version": task["version"] });
        self.engine.post(&format!("/tasks/{}/claim", text(&task, "id")), claim).await?;
        Ok(task)
    }

    async fn finished_task(&self, title: &str) -> Result<Value> {
        let task = self.claimed_task(title).await?;
        let over = |task: &Value| task["status"] == "done" && task["workspace"]["status"] == "cleaned";
        self.engine.until(&task, over).await
    }

    /// The steps of a task's last move in order: name, outcome and reason.
    async fn steps(&self, task: &Value) -> Result<Vec<(String, String, String)>> {
        let moves = self.engine.get(&format!("/tasks/{}/transitions", text(task, "id"))).await?;
        let last = moves["items"].as_array().and_then(|all| all.last()).context("no moves")?.clone();
        let steps = last["steps"].as_array().cloned().unwrap_or_default();
        Ok(steps
            .iter()
            .map(|step| (text(step, "action"), text(step, "outcome"), text(step, "reason")))
            .collect())
    }

    fn path(&self, more: &str) -> String {
        format!("/projects/{}/knowledge{more}", self.project)
    }

    async fn list(&self, query: &str) -> Result<Vec<Value>> {
        let page = self.engine.get(&self.path(query)).await?;
        Ok(page["items"].as_array().context("no items")?.clone())
    }

    async fn proposed(&self) -> Result<Value> {
        let all = self.list("?status=proposed").await?;
        ensure!(all.len() == 1, "{all:#?}");
        Ok(all[0].clone())
    }

    async fn accept(&self, lesson: &Value, body: Value) -> Result<Value> {
        self.engine.post(&self.path(&format!("/{}/accept", text(lesson, "id"))), body).await
    }

    fn git(&self, args: &[&str]) -> Result<String> {
        Ok(self.folder.repo.git(args)?.trim_end().to_owned())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn finished_task_proposes_lessons_by_action_and_by_plugin() -> Result<()> {
    for by in [LessonSource::Action, LessonSource::Plugin] {
        let fixture = KnowledgeFixture::new(by).await?;
        let task = fixture.finished_task("Mend the login").await?;
        let name = if by == LessonSource::Action { "knowledge-capture" } else { "on_task_done[0]" };
        let steps = fixture.steps(&task).await?;
        let at = steps.iter().position(|(step, ..)| step == name).context("it did not run")?;
        assert_eq!(steps[at], (name.to_owned(), "ok".to_owned(), OUTCOME.to_owned()));
        let cleaned =
            steps.iter().position(|(step, ..)| step == "schedule_workspace_cleanup" || step == "cleanup");
        assert!(cleaned.is_none_or(|cleaned| at < cleaned), "{steps:?}");

        let lesson = fixture.proposed().await?;
        let wanted = json!({
            "status": "proposed", "title": "The login token expires", "paths": ["src/login.rs"],
            "body": "Renew the login token after an hour.", "file": null, "commit": null,
            "task_id": task["id"], "task_number": task["number"], "decided_at": null,
        });
        for (key, value) in wanted.as_object().context("an object")? {
            assert_eq!(&lesson[key], value, "{key} of {lesson:#}");
        }
        assert!(lesson["execution_id"].is_string() && lesson["created_at"].is_string(), "{lesson:#}");

        // The same is not said twice, whoever says it and whatever became of it.
        let again = fixture.finished_task("Mend it again").await?;
        let steps = fixture.steps(&again).await?;
        let (_, outcome, reason) = steps.iter().find(|(step, ..)| step == name).context("no step")?;
        assert_eq!(outcome, "skipped");
        assert!(reason.starts_with("no new lesson proposed; refused: \"Out of bounds\""), "{reason}");
        assert_eq!(fixture.proposed().await?["id"], lesson["id"]);
        fixture.set_output("no lesson\n")?;
        let silent = fixture.finished_task("Say nothing").await?;
        let steps = fixture.steps(&silent).await?;
        assert!(steps.contains(&(name.to_owned(), "skipped".to_owned(), "no lesson proposed".to_owned())));
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn accepted_lesson_is_committed_and_read_by_the_next_agent() -> Result<()> {
    let fixture = KnowledgeFixture::new(LessonSource::Plugin).await?;
    let task = fixture.finished_task("Mend the login").await?;
    let lesson = fixture.proposed().await?;
    // The user is elsewhere: nothing of the checkout moves.
    fixture.git(&["switch", "-q", "-c", "elsewhere"])?;
    std::fs::write(fixture.folder.repo.path().join("README.md"), "# By hand\n")?;
    let (head, main) = (fixture.git(&["rev-parse", "HEAD"])?, fixture.git(&["rev-parse", "main"])?);
    let accepted = fixture.accept(&lesson, json!({})).await?;
    let file = "docs/knowledge/the-login-token-expires.md";
    assert_eq!((text(&accepted, "status"), text(&accepted, "file")), ("accepted".into(), file.into()));
    assert_eq!(accepted["commit"], fixture.git(&["rev-parse", "main"])?.as_str());
    assert_eq!(fixture.git(&["rev-parse", "HEAD"])?, head);
    assert_eq!(fixture.git(&["status", "--porcelain"])?, " M README.md");
    assert!(!fixture.folder.repo.path().join(file).exists());
    let number = &task["number"];
    assert_eq!(
        fixture.git(&["show", "--format=%s|%P", "--name-status", "main"])?,
        format!("Lesson: The login token expires (#{number})|{main}\n\nA\t{file}")
    );
    assert_eq!(
        fixture.git(&["show", &format!("main:{file}")])?,
        format!(
            "---\ntitle: \"The login token expires\"\npaths: [\"src/login.rs\"]\ntask: {number}\n---\n\
             # The login token expires\n\nRenew the login token after an hour."
        )
    );
    // Once more changes nothing; what is kept cannot be dismissed.
    assert_eq!(fixture.accept(&lesson, json!({ "title": "Other" })).await?, accepted);
    let dismiss = fixture.path(&format!("/{}/dismiss", text(&lesson, "id")));
    let (status, body) = refused(fixture.engine.request(Method::POST, &dismiss).json(&json!({}))).await?;
    assert_eq!((status, text(&body, "code").as_str()), (409, "lesson_decided"), "{body:#}");
    assert!(fixture.list("?status=proposed").await?.is_empty());
    assert_eq!(fixture.list("").await?, std::slice::from_ref(&accepted));
    assert_eq!(fixture.list("?status=accepted").await?, [accepted]);

    // The next task's agent is told, and how to propose, too.
    let next = fixture.finished_task("Renew the login token").await?;
    let prompt = fixture.engine.get(&format!("/tasks/{}/prompt-preview", text(&next, "id"))).await?;
    let prompt = text(&prompt, "text");
    let told = format!(
        "## The login token expires\n\nRenew the login token after an hour.\n\nSource: `{file}`, learned in task #{number}, \
         about `src/login.rs`\n"
    );
    assert!(prompt.contains(&told) && prompt.contains("```forge-lesson"), "{prompt}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn project_without_lessons_does_not_ask_for_any() -> Result<()> {
    let sandbox = Folder::new()?;
    let engine = LocalEngine::start(sandbox.dir.path(), |_| {}).await?;
    let off = json!([{ "type": "plugin", "name": "knowledge-capture", "enabled": false }]);
    let (project, _) =
        engine.project(&sandbox.repo, json!({ "lifecycle_hooks": { "on_task_done": off } })).await?;
    let task = engine.task(&project, json!({})).await?;
    let prompt = engine.get(&format!("/tasks/{}/prompt-preview", text(&task, "id"))).await?;
    assert!(!text(&prompt, "text").contains("forge-lesson"));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn accepted_lesson_updates_the_checkout_or_names_the_obstacle() -> Result<()> {
    let fixture = KnowledgeFixture::new(LessonSource::Plugin).await?;
    fixture.finished_task("Mend the login").await?;
    let lesson = fixture.proposed().await?;
    let root = fixture.folder.repo.path().to_owned();
    let file = "docs/knowledge/tokens.md";
    std::fs::create_dir_all(root.join("docs/knowledge"))?;
    std::fs::write(root.join(file), "mine\n")?;
    let main = fixture.git(&["rev-parse", "main"])?;
    let edit = json!({ "title": "Tokens", "body": "They expire.\r\n", "paths": [] });
    let accept = fixture.path(&format!("/{}/accept", text(&lesson, "id")));
    let (status, body) = refused(fixture.engine.request(Method::POST, &accept).json(&edit)).await?;
    assert_eq!((status, text(&body, "code").as_str()), (409, "target_checkout_dirty"), "{body:#}");
    assert_eq!(body["details"]["files"], json!([file]));
    assert!(body["hints"][0].as_str().is_some_and(|hint| hint.contains("Commit, move")), "{body:#}");
    assert_eq!(fixture.git(&["rev-parse", "main"])?, main);
    assert_eq!(std::fs::read_to_string(root.join(file))?, "mine\n");
    assert_eq!(fixture.proposed().await?, lesson, "it still waits");

    // Committed, the name is taken; the lesson gets another, and the checkout moves along.
    fixture.git(&["add", file])?;
    fixture.git(&["commit", "-qm", "mine"])?;
    std::fs::write(root.join("README.md"), "# By hand\n")?;
    let accepted = fixture.accept(&lesson, edit).await?;
    assert_eq!(text(&accepted, "file"), "docs/knowledge/tokens-2.md");
    assert_eq!((text(&accepted, "title"), text(&accepted, "body")), ("Tokens".into(), "They expire.".into()));
    let kept = std::fs::read_to_string(root.join("docs/knowledge/tokens-2.md"))?;
    assert!(
        kept.starts_with("---\ntitle: \"Tokens\"\ntask: ") && kept.ends_with("# Tokens\n\nThey expire.\n")
    );
    assert_eq!(fixture.git(&["status", "--porcelain"])?, " M README.md");
    assert_eq!(fixture.git(&["rev-parse", "HEAD"])?, fixture.git(&["rev-parse", "main"])?);

    // What somebody wrote by hand is a lesson, too.
    let all = fixture.list("").await?;
    let shown: Vec<(String, Value)> = all.iter().map(|one| (text(one, "file"), one["id"].clone())).collect();
    assert_eq!(
        shown,
        [("docs/knowledge/tokens-2.md".to_owned(), lesson["id"].clone()), (file.to_owned(), Value::Null)]
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn lesson_proposed_by_hand_can_be_dismissed_and_listed_in_pages() -> Result<()> {
    let fixture = KnowledgeFixture::new(LessonSource::Plugin).await?;
    let mut ids = Vec::new();
    for title in ["One", "Two", "Three"] {
        let new = json!({ "title": title, "body": "x" });
        ids.push(fixture.engine.post(&fixture.path(""), new).await?);
    }
    let post = |path: &str, body: &Value| fixture.engine.request(Method::POST, path).json(body);
    let (status, body) = refused(post(&fixture.path(""), &json!({ "title": "One", "body": " x " }))).await?;
    assert_eq!((status, text(&body, "code").as_str()), (409, "name_taken"), "{body:#}");
    let wrong = json!({ "title": "", "body": "x", "paths": ["ok", "/x"] });
    let (status, body) = refused(post(&fixture.path(""), &wrong)).await?;
    let paths: Vec<String> =
        body["details"]["findings"].as_array().into_iter().flatten().map(|one| text(one, "path")).collect();
    assert_eq!((status, paths), (400, vec!["title".to_owned(), "paths[1]".to_owned()]), "{body:#}");
    let (status, _) = refused(post(&fixture.path("/nobody/accept"), &json!({}))).await?;
    assert_eq!(status, 404);
    let (status, _) = refused(fixture.engine.request(Method::GET, &fixture.path("?cursor=x"))).await?;
    assert_eq!(status, 400);

    let dismiss = fixture.path(&format!("/{}/dismiss", text(&ids[1], "id")));
    for _ in 0..2 {
        assert_eq!(text(&fixture.engine.post(&dismiss, json!({})).await?, "status"), "dismissed");
    }
    assert_eq!(fixture.list("?status=dismissed").await?.len(), 1);
    let accepted = fixture.accept(&ids[0], json!({ "title": "日本語" })).await?;
    assert_eq!(
        (text(&accepted, "file"), text(&accepted, "title")),
        ("docs/knowledge/lesson.md".into(), "日本語".into())
    );
    // Second thoughts: two files and a proposal, a page each.
    fixture.accept(&ids[1], json!({ "paths": ["src/"] })).await?;
    let (mut titles, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = fixture.engine.get(&fixture.path(&format!("?limit=1{cursor}"))).await?;
        let items = page["items"].as_array().context("no items")?;
        ensure!(items.len() <= 1, "{page:#}");
        titles.extend(items.iter().map(|item| text(item, "title")));
        let Some(next) = page["next_cursor"].as_str() else { break };
        cursor = format!("&cursor={next}");
    }
    assert_eq!(titles, ["Three", "日本語", "Two"]);
    assert_eq!(fixture.list("?status=accepted").await?[1]["paths"], json!(["src"]));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn proposed_lesson_is_announced_to_the_window() -> Result<()> {
    let fixture = KnowledgeFixture::new(LessonSource::Plugin).await?;
    fixture.finished_task("Mend the login").await?;
    let announced = |events: &[Value]| events.iter().any(|event| event["data"]["knowledge"] == "proposed");
    fixture.engine.events_until(announced, "an announcement").await?;
    Ok(())
}
