//! Review, merge and what follows: a project with attempts, findings, comments, conflicts, a line before the
//! target, lessons and pull requests, and the pictures of them.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use forge_model::pull_request::HostKind;
use forge_testkit::{Repository, hosts::FakeHost, program};
use forge_tests::{patience::until, window::Window};
use serde_json::{Value, json};

use crate::{
    scenes::Scene,
    stage::{claim, reach, text},
};

/// The projects. The code host lives as long as the pictures are taken.
pub struct Reviews {
    project: String,
    /// Rejected by the auditor once, and now a person's, who has written drafts.
    judged: u32,
    /// Its conflict is a person's, since no attempt is left.
    conflict: u32,
    /// The project whose first task waits for a checkout: local changes are in the way of its merge.
    held: String,
    /// It merges, however long that takes.
    merging: u32,
    /// It stands behind that one.
    queued: u32,
    /// It is merged.
    delivered: u32,
    by_host: String,
    _host: FakeHost,
}

fn block(words: &str, lines: &str) -> String {
    format!("```forge-script{words}\n{lines}\n```\n")
}

fn number(task: &Value) -> Result<u32> {
    Ok(u32::try_from(task["number"].as_u64().context("no number")?)?)
}

fn awaiting(task: &Value) -> bool {
    task["review"]["status"] == "awaiting_human"
}

/// There once the long merge has begun.
const BEGUN: &str = "merge-begun";
const BOARD: &str = "# Menu\n\nBread\nSoup of the day\nCheese\n";

/// Makes the projects and lets their agents work.
pub async fn stage(window: &Window) -> Result<Reviews> {
    let folder = window.display.folder().to_owned();
    let path = folder.join("kitchen");
    let repository = Repository::create(&path, &[("README.md", "# Kitchen\n"), ("menu.md", BOARD)])?;
    merge_slowly(&repository, &folder)?;
    let agent = json!({ "name": "Sous-chef", "adapter": "shell", "max_concurrent": 8, "config": {
        "command": program("forge-scripted-agent")?.to_string_lossy(), "args": ["--prompt-file", "{prompt_file}"] } });
    let agent = text(&window.call("agent_create", agent).await?, "id")?;
    let checks = json!({ "ci_steps": ["echo 14 dishes, none twice", "test -e menu.md"] });
    let settings = json!({ "shell": ["sh", "-c"], "review_config": checks, "max_concurrent": 8 });
    let new = json!({ "name": "Kitchen", "repo_path": path, "settings": settings });
    let project = text(&window.call("project_create", new).await?, "id")?;
    let task = async |title: &str, told: &str, more: Value| -> Result<Value> {
        let mut new = json!({ "project_id": project, "title": title, "description": told,
            "roles": { "coder": agent } });
        for (key, value) in more.as_object().context("an object")? {
            new[key] = value.clone();
        }
        let made = window.call("task_create", new).await?;
        claim(window, &made).await?;
        Ok(made)
    };
    let approve = async |task: &Value| window.call("review_approve", json!({ "task_id": task["id"] })).await;

    let told = block(
        "",
        "edit wine.md <<< \"# Wine\\n\\nRed\\nWhite\\n\"\ncommit list the wine\n\
        edit wine.md <<< \"# Wine\\n\\nRed\\nWhite\\nRosé\\n\"\nusage m 12000 900 310000\n\
        summary The wine is listed by **colour**, three of them.",
    );
    let delivered = task("List the wine", &told, json!({})).await?;
    reach(window, &delivered, awaiting).await?;
    approve(&delivered).await?;
    reach(window, &delivered, |task| task["status"] == "done").await?;

    let judged = judged(window, &task, &agent).await?;
    let conflict = conflict(window, &repository, &task).await?;
    approve(&conflict).await?;
    reach(window, &conflict, |task| task["error_annotation"]["type"] == "merge_conflict").await?;

    let merging = task("Sum up the bill", &block("", "append bill.md <<< \"task\\n\""), json!({})).await?;
    reach(window, &merging, awaiting).await?;
    let queued = task("Print the bill", &block("", "edit print.md <<< \"x\\n\""), json!({})).await?;
    reach(window, &queued, awaiting).await?;
    repository.write("bill.md", "first\nmain\n")?;
    repository.git(&["commit", "-qm", "main", "bill.md"])?;
    // Its merge does not end while the pictures are taken, so nobody waits for the answer.
    window.call("review_approve", json!({ "task_id": merging["id"], "wait": "none" })).await?;
    until("the long merge", async || Ok(folder.join(BEGUN).exists().then_some(()))).await?;
    window.call("review_approve", json!({ "task_id": queued["id"], "wait": "none" })).await?;
    reach(window, &queued, |task| task["waiting"]["reason"] == "merge_queue").await?;
    lessons(window, &project).await?;
    let held = held(window, &folder, &agent).await?;
    let (by_host, host) = by_host(window, &folder, &agent).await?;
    Ok(Reviews {
        judged: number(&judged)?,
        conflict: number(&conflict)?,
        held,
        merging: number(&merging)?,
        queued: number(&queued)?,
        delivered: number(&delivered)?,
        project,
        by_host,
        _host: host,
    })
}

/// Two attempts: one that the auditor rejects, and one that a person has drafts for.
async fn judged(
    window: &Window,
    task: &impl AsyncFn(&str, &str, Value) -> Result<Value>,
    agent: &str,
) -> Result<Value> {
    let write = |soup: &str| {
        format!("edit soups.md <<< \"# Soups\\n\\nTomato\\n{soup}\\nOnion\\nLeek\\nPumpkin\\n\"")
    };
    let finding = |line: u32, severity: &str, text: &str| json!({ "file": "soups.md", "line": line, "severity": severity, "text": text });
    let rejects = json!({ "verdict": "fail", "score": 41, "summary": "A guest who is allergic cannot tell what is in the soups.",
        "findings": [
            finding(4, "error", "**Celery** must be marked: it is one of the 14 allergens that the law names."),
            finding(3, "warning", "Say whether cream is in it."),
            { "file": "soups.md", "severity": "info", "text": "The order is neither that of the alphabet nor of the price." },
        ] });
    let told = [
        block("", &write("Celery")),
        block(" attempt=2", &write("Celery (allergen)")),
        block(" role=reviewer", &format!("say I read every line.\nprint {rejects}")),
        block(" role=reviewer attempt=2", "say I cannot make up my mind about the onions."),
    ];
    let more = json!({ "roles": { "coder": agent, "reviewer": agent } });
    let made = task("List the soups with their allergens", &told.concat(), more).await?;
    // Without a verdict it is a person's to decide.
    reach(window, &made, |task| task["review"]["attempt_number"] == 2 && awaiting(task)).await?;
    for (line, text) in [(6, "Is there **flour** in the leek soup?"), (1, "A word on portions, please.")] {
        let draft = json!({ "task_id": made["id"], "path": "soups.md", "line": line, "text": text });
        window.call("comment_create", draft).await?;
    }
    Ok(made)
}

/// A task whose merge conflicts, with no attempt at mending it left.
async fn conflict(
    window: &Window,
    repository: &Repository,
    task: &impl AsyncFn(&str, &str, Value) -> Result<Value>,
) -> Result<Value> {
    let pea = BOARD.replace("Soup of the day", "Pea soup").replace('\n', "\\n");
    let none = json!({ "task_state_config": { "retry_budgets": { "merge_fix": 0 } } });
    let made = task("Serve pea soup", &block("", &format!("edit menu.md <<< \"{pea}\"")), none).await?;
    reach(window, &made, awaiting).await?;
    repository.write("menu.md", &BOARD.replace("Soup of the day", "Tomato soup"))?;
    repository.commit("tomato soup today")?;
    Ok(made)
}

/// A file whose merge takes as long as the pictures: a driver of the repository's own waits.
fn merge_slowly(repository: &Repository, folder: &Path) -> Result<()> {
    repository.write(".gitattributes", "bill.md merge=slow\n")?;
    repository.write("bill.md", "first\n")?;
    repository.commit("a file with a driver of its own")?;
    let (begun, never) = (folder.join(BEGUN), folder.join("never"));
    let driver =
        format!("touch '{}'; while ! test -e '{}'; do sleep 1; done", begun.display(), never.display());
    repository.git(&["config", "merge.slow.driver", &driver]).map(drop)
}

async fn lessons(window: &Window, project: &str) -> Result<()> {
    for (title, body) in [
        ("Allergens are named by law", "There are 14 of them. A dish without its list is not printed."),
        ("The menu is printed on Thursdays", "Changes after Wednesday noon come a week later."),
    ] {
        let new = json!({ "project_id": project, "title": title, "body": body });
        window.call("knowledge_propose", new).await?;
    }
    Ok(())
}

/// A project whose checkout has a file in the way of its task's merge.
async fn held(window: &Window, folder: &Path, agent: &str) -> Result<String> {
    let path = folder.join("guests");
    let repository = Repository::create(&path, &[("README.md", "# Guests\n")])?;
    repository.write("guests.md", "written by hand, not committed\n")?;
    let settings = json!({ "shell": ["sh", "-c"], "auto_approve": true });
    let new = json!({ "name": "Guests", "repo_path": path, "settings": settings });
    let project = text(&window.call("project_create", new).await?, "id")?;
    let told = block("", "edit guests.md <<< \"# Guests\\n\"");
    let new = json!({ "project_id": project, "title": "Write a guest list", "description": told, "roles": { "coder": agent } });
    let task = window.call("task_create", new).await?;
    claim(window, &task).await?;
    reach(window, &task, |task| task["waiting"]["reason"] == "target_checkout_dirty").await?;
    Ok(project)
}

/// A project that works by pull requests at a host for which there is no token.
async fn by_host(window: &Window, folder: &Path, agent: &str) -> Result<(String, FakeHost)> {
    let path: PathBuf = folder.join("delivery-service");
    let repository = Repository::create(&path, &[("README.md", "# Delivery service\n")])?;
    let bare = folder.join("delivery-service.git");
    let host = FakeHost::start(HostKind::Gitea, &bare).await?;
    repository.git(&["remote", "add", "origin", &bare.to_string_lossy()])?;
    repository.git(&["push", "--quiet", "origin", "main"])?;
    let settings = json!({ "shell": ["sh", "-c"], "auto_approve": true, "code_host": host.config("origin") });
    let new = json!({ "name": "Delivery service", "repo_path": path, "settings": settings, "work_mode": "pull_request" });
    let project = text(&window.call("project_create", new).await?, "id")?;
    let told = block("", "edit routes.md <<< \"# Routes\\n\"");
    let new = json!({ "project_id": project, "title": "Plan the routes", "description": told, "roles": { "coder": agent } });
    let task = window.call("task_create", new).await?;
    claim(window, &task).await?;
    until("the trouble", async || {
        let now = window.call("task_get", json!({ "task_id": task["id"] })).await?;
        Ok((!now["error_annotation"].is_null() || !now["waiting"].is_null() && now["status"] == "merging")
            .then_some(()))
    })
    .await?;
    Ok((project, host))
}

/// The pictures.
pub fn scenes(reviews: &Reviews) -> Vec<Scene> {
    let board = format!("#/board/{}", reviews.project);
    let panel = |number: u32| format!("{board}?task={number}");
    let page = |number: u32, tab: &str| format!("#/task/{}/{number}?tab={tab}", reviews.project);
    vec![
        Scene::at("review-board", board.clone()),
        Scene::at("review-attention", "#/attention"),
        Scene::at("review-attempts", page(reviews.judged, "review")),
        Scene::at("review-comments", page(reviews.judged, "diff")),
        Scene::at("review-panel", panel(reviews.judged)),
        Scene::at("review-conflict", page(reviews.conflict, "review")),
        Scene::at("review-conflict-panel", panel(reviews.conflict)),
        Scene::at("review-held", format!("#/task/{}/1?tab=review", reviews.held)),
        Scene::at("review-held-panel", format!("#/board/{}?task=1", reviews.held)),
        Scene::at("review-merging", page(reviews.merging, "review")),
        Scene::at("review-queued", page(reviews.queued, "review")),
        Scene::at("review-queued-panel", panel(reviews.queued)),
        Scene::at("review-delivered", page(reviews.delivered, "review")),
        Scene::at("review-delivered-panel", panel(reviews.delivered)),
        Scene::at("review-pull-request", format!("#/task/{}/1?tab=review", reviews.by_host)),
        Scene::at("review-pull-request-panel", format!("#/board/{}?task=1", reviews.by_host)),
        Scene::at("review-knowledge", format!("#/settings/project/{}?tab=knowledge", reviews.project)),
    ]
}
