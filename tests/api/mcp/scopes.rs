//! The token of a run: its scope, its lifetime, and where it never appears.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use forge_tests::{
    drafter,
    patience::{until, until_there},
};
use reqwest::Method;
use serde_json::{Value, json};

use super::Mcp;
use crate::answers::refused;
use forge_testkit::serve::Served;
use forge_testkit::{
    Board,
    board::{text, with},
};

/// A check that reports the file as compilers do, unless it is waived.
const CHECK: &str = "test -e waived || grep -q good total.txt || { echo 'total.txt:2:1: error: it is not good' >&2; exit 1; }";
const FIX: &str = "--- a/total.txt\n+++ b/total.txt\n@@ -1,3 +1,3 @@\n one\n-bad\n+good\n three\n";

/// A board whose agents get Forge's MCP tools.
async fn open() -> Result<Board<Served>> {
    let service = json!({ "name": "web", "command": "echo serves at $PORT; exec sleep 600" });
    let board = Board::served(json!({ "mcp": { "inject": true }, "services": [service] })).await?;
    board.patch(&format!("/agents/{}", board.agent), json!({ "max_concurrent": 8 })).await?;
    Ok(board)
}

/// A task whose agent writes its token to a file and waits.
struct RunFixture {
    task: Value,
    token: String,
    go: PathBuf,
}

impl RunFixture {
    async fn new(board: &Board<Served>, name: &str, more: Value) -> Result<Self> {
        let folder = board.folder.dir.path();
        let (file, go) = (folder.join(format!("{name}-token")), folder.join(format!("{name}-go")));
        let lines = [
            format!(
                "run printf '%s %s' \"$FORGE_MCP_TOKEN\" \"$FORGE_MCP_URL\" > {0}.new && mv {0}.new {0}",
                file.display()
            ),
            format!("wait-for {}", go.display()),
            "edit a <<< \"a\\n\"".to_owned(),
        ];
        let task = board.task(&lines.each_ref().map(String::as_str), more).await?;
        board.claim(&task).await?;
        let token = Self::written(board, &file).await?;
        Ok(Self { task, token, go })
    }

    /// The token and the address that the agent wrote.
    async fn written(board: &Board<Served>, file: &Path) -> Result<String> {
        until_there(file).await?;
        let written = std::fs::read_to_string(file)?;
        let (token, url) = written.split_once(' ').context("no token")?;
        assert_eq!(url, format!("{}/mcp", board.engine.url));
        ensure!(token.starts_with("run_"), "{token}");
        Ok(token.to_owned())
    }

    fn id(&self) -> &Value {
        &self.task["id"]
    }
}

/// Every tool that takes an id, with ids of other tasks.
fn foreign(board: &Board<Served>, task: &Value, run: &Value) -> Vec<(&'static str, Value)> {
    let id = &task["id"];
    vec![
        ("forge_list_projects", json!({})),
        ("forge_get_project", json!({ "project_id": board.project })),
        ("forge_list_agents", json!({})),
        ("forge_list_tasks", json!({ "project_id": board.project })),
        ("forge_create_task", json!({ "project_id": board.project, "title": "More" })),
        ("forge_create_task", json!({ "project_id": board.project, "title": "More", "parent_id": id })),
        ("forge_get_task", json!({ "task_id": id })),
        ("forge_update_task", json!({ "task_id": id, "version": 1, "title": "Mine" })),
        ("forge_transition_task", json!({ "task_id": id, "version": 1, "to": "blocked" })),
        ("forge_assign_agent", json!({ "task_id": id, "agent_id": board.agent })),
        ("forge_cancel_task", json!({ "task_id": id })),
        ("forge_cancel_task", json!({ "task_id": id, "version": 1 })),
        ("forge_create_sub_tasks", json!({ "task_id": id, "tasks": [{ "title": "Part" }] })),
        ("forge_add_task_dependency", json!({ "task_id": id, "depends_on": id })),
        ("forge_remove_task_dependency", json!({ "task_id": id, "depends_on": id })),
        ("forge_get_task_diff", json!({ "task_id": id })),
        ("forge_list_executions", json!({ "task_id": id })),
        ("forge_follow_up_execution", json!({ "execution_id": run["id"], "message": "Psst." })),
        ("forge_task_action", json!({ "task_id": id, "verb": "hold", "version": 1 })),
        ("forge_run_service", json!({ "task_id": id })),
        ("forge_stop_service", json!({ "task_id": id })),
        ("forge_service_log", json!({ "task_id": id })),
        ("forge_search_knowledge", json!({ "project_id": "another", "q": "x" })),
        ("validate", json!({ "moduleId": "m", "commands": ["true"], "cwd": board.folder.repo.path() })),
        ("validate", json!({ "moduleId": "m", "commands": ["true"], "runId": id })),
        ("iteration_state", json!({ "action": "get", "moduleId": "m", "runId": id })),
        ("iteration_state", json!({ "action": "reset", "moduleId": "m" })),
        ("forge_logs", json!({ "runId": id })),
        ("forge_logs", json!({ "project_id": "another" })),
        ("list_fix_proposals", json!({ "task_id": id })),
        ("apply_fix_proposal", json!({ "fix_id": "x", "task_id": id })),
        ("rollback_fix_proposal", json!({ "fix_id": "x", "task_id": id })),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn run_token_reaches_only_its_task_and_subtasks() -> Result<()> {
    let board = open().await?;
    let other = RunFixture::new(&board, "other", json!({})).await?;
    let checks = json!({ "review_config": { "ci_steps": ["test -e README.md"] } });
    let own = RunFixture::new(&board, "own", checks).await?;
    assert_ne!(own.token, other.token);
    let all: Vec<String> = Mcp::over_http(&board.engine).await?.tools.into_keys().collect();
    let mcp = Mcp::with_token(&board.engine, &own.token).await?;
    ensure!(mcp.instructions()?.contains(&text(&own.task, "id")), "it is told which task is its own");
    ensure!(!mcp.tools.contains_key("forge_list_projects"), "what it cannot use is not shown");
    let size = mcp.size()?;
    ensure!(size < 54 * 1024, "it reads all of it before it works: {size} bytes");

    let run = board.runs(&other.task).await?.remove(0);
    let refused_calls = foreign(&board, &other.task, &run);
    for tool in &all {
        ensure!(refused_calls.iter().any(|(name, _)| name == tool), "{tool} is not tried on another's task");
    }
    for (tool, arguments) in refused_calls {
        let said = mcp.refusal(tool, arguments).await?;
        ensure!(
            said.starts_with("out_of_scope: ") && said.contains(&text(&own.task, "id")),
            "{tool}: {said}"
        );
    }
    assert_eq!(board.get(&other.task).await?["status"], "in_progress", "nothing came of it");

    let diff = mcp.call("forge_get_task_diff", json!({ "task_id": own.id() })).await?;
    assert_eq!(diff["changes"]["files"], json!([]));
    let report = mcp.call("validate", json!({ "moduleId": "m", "commands": ["test -e README.md"] })).await?;
    assert_eq!((&report["passed"], &report["attempt"]), (&json!(true), &json!(1)), "{report:#}");
    let planted = board.folder.dir.path().join("planted");
    let other_command = format!("touch {}", planted.display());
    let said = mcp.refusal("validate", json!({ "moduleId": "m", "commands": [other_command] })).await?;
    ensure!(said.starts_with("out_of_scope: ") && said.contains("test -e README.md"), "{said}");
    ensure!(!planted.exists(), "a command that the project does not declare ran");
    let kept = mcp.call("iteration_state", json!({ "action": "get", "moduleId": "m" })).await?;
    assert_eq!(kept["runId"], *own.id(), "its attempts are kept under its task");
    let lessons = json!({ "project_id": board.project, "q": "anything" });
    assert_eq!(mcp.call("forge_search_knowledge", lessons).await?["items"], json!([]));
    let parts = json!({ "task_id": own.id(), "tasks": [{ "title": "One" }, { "title": "Two" }] });
    let parts = mcp.call("forge_create_sub_tasks", parts).await?;
    let (one, two) = (&parts["items"][0], &parts["items"][1]);
    mcp.call("forge_add_task_dependency", json!({ "task_id": two["id"], "depends_on": one["id"] })).await?;
    mcp.call("forge_update_task", json!({ "task_id": one["id"], "version": one["version"], "title": "1" }))
        .await?;
    mcp.call("forge_cancel_task", json!({ "task_id": two["id"] })).await?;
    let rows = board.history(two).await?;
    assert_eq!(rows.last().context("no history")?["actor"], format!("agent:{}", board.agent));
    let started = mcp.call("forge_run_service", json!({ "task_id": own.id() })).await?;
    ensure!(text(&started, "url").starts_with("http://localhost:"), "{started:#}");
    until("what its service prints", async || {
        let read = mcp.call("forge_service_log", json!({ "task_id": own.id(), "name": "web" })).await?;
        Ok(text(&read, "output").contains("serves at").then_some(()))
    })
    .await?;
    let stopped = mcp.call("forge_stop_service", json!({ "task_id": own.id() })).await?;
    assert_eq!(stopped["items"][0]["reason"], "Stopped by the task's agent", "{stopped:#}");
    let of_part = mcp.refusal("forge_run_service", json!({ "task_id": one["id"] })).await?;
    ensure!(of_part.starts_with("out_of_scope: "), "{of_part}");
    for held in [own, other] {
        std::fs::write(&held.go, "")?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn run_token_limits_what_an_agent_decides_about_its_task() -> Result<()> {
    let board = open().await?;
    let own = RunFixture::new(&board, "own", json!({})).await?;
    let mcp = Mcp::with_token(&board.engine, &own.token).await?;
    let id = own.id();
    let version = mcp.call("forge_get_task", json!({ "task_id": id })).await?["version"].clone();
    let part = json!({ "task_id": id, "tasks": [{ "title": "Part" }] });
    let part = mcp.call("forge_create_sub_tasks", part).await?["items"][0].clone();
    let lax = json!({ "ci_steps": [] });
    for (tool, arguments) in [
        ("forge_update_task", json!({ "task_id": id, "version": version, "description": "Nothing." })),
        ("forge_update_task", json!({ "task_id": part["id"], "version": 1, "review_config": lax })),
        (
            "forge_create_task",
            json!({ "project_id": board.project, "parent_id": id, "title": "x", "review_config": lax }),
        ),
        ("forge_transition_task", json!({ "task_id": id, "version": version, "to": "review" })),
        ("forge_transition_task", json!({ "task_id": id, "version": version, "to": "cancelled" })),
        ("forge_task_action", json!({ "task_id": id, "version": version, "verb": "cancel" })),
        ("forge_task_action", json!({ "task_id": part["id"], "version": 1, "verb": "hold" })),
        ("forge_assign_agent", json!({ "task_id": part["id"], "agent_id": board.agent })),
    ] {
        let said = mcp.refusal(tool, arguments).await?;
        ensure!(said.starts_with("out_of_scope: "), "{tool}: {said}");
    }
    // It may say that it needs a person; that ends its run, and with it the token.
    let give_up = json!({ "task_id": id, "version": version, "to": "blocked", "reason": "What is wanted?", "wait": "none" });
    let _ = mcp.answer("forge_transition_task", give_up).await;
    board.engine.until(&own.task, |task| task["status"] == "blocked").await?;
    let rows = board.history(&own.task).await?;
    let last = rows.last().context("no history")?;
    assert_eq!(
        (&last["actor"], &last["reason"]),
        (&json!(format!("agent:{}", board.agent)), &json!("What is wanted?"))
    );
    is_dead(&board, &own.token).await
}

/// Guards for agents apply to moves with a run token, guards for people do not.
#[tokio::test(flavor = "multi_thread")]
async fn move_by_an_agent_asks_the_guards_for_agents_alone() -> Result<()> {
    let board = open().await?;
    for (audience, refused) in [("agent_only", true), ("user_only", false), ("all", true)] {
        let guard = json!([{ "action": "require_clean_worktree", "applies_to": audience }]);
        let workflow = Board::workflow(|states| {
            forge_testkit::board::state(states, "in_progress")["hooks"]["before_exit"] = guard;
        })?;
        let path = format!("/projects/{}/workflow", board.project);
        let request = board.engine.request(Method::PUT, &path).json(&json!({ "workflow": workflow }));
        crate::answers::good(request.send().await?).await?;
        let own = RunFixture::new(&board, audience, json!({})).await?;
        let now = board.get(&own.task).await?;
        std::fs::write(Path::new(&text(&now["workspace"], "path")).join("half"), "half")?;
        let mcp = Mcp::with_token(&board.engine, &own.token).await?;
        let give_up =
            json!({ "task_id": own.id(), "version": now["version"], "to": "blocked", "wait": "none" });
        if refused {
            let said = mcp.refusal("forge_transition_task", give_up).await?;
            ensure!(said.starts_with("guard_rejected: "), "{audience}: {said}");
            assert_eq!(board.get(&own.task).await?["status"], "in_progress", "{audience}");
            board.act(&own.task, "actions/cancel", json!({})).await?;
        } else {
            // It ends the agent's own run, and with it the answer.
            let _ = mcp.answer("forge_transition_task", give_up).await;
            board.engine.until(&own.task, |task| task["status"] == "blocked").await?;
        }
    }
    Ok(())
}

/// Checks that a token is refused everywhere.
async fn is_dead(board: &Board<Served>, token: &str) -> Result<()> {
    until("the end of a token", async || {
        Ok(Mcp::with_token(&board.engine, token).await.is_err().then_some(()))
    })
    .await?;
    let asked = board.engine.bare(Method::GET, "/api/v1/meta").bearer_auth(token);
    assert_eq!(refused(asked).await?.0, 401);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn run_token_is_valid_for_mcp_only_and_during_the_run() -> Result<()> {
    let board = open().await?;
    let own = RunFixture::new(&board, "own", json!({})).await?;
    for path in ["/api/v1/meta", "/api/v1/settings", "/api/v1/events", "/api/v1/openapi.json"] {
        let (status, body) = refused(board.engine.bare(Method::GET, path).bearer_auth(&own.token)).await?;
        assert_eq!((status, &body["code"]), (403, &json!("out_of_scope")), "{path}");
    }
    let mcp = Mcp::with_token(&board.engine, &own.token).await?;
    std::fs::write(&own.go, "")?;
    board.engine.until(&own.task, |task| task["status"] == "done").await?;
    is_dead(&board, &own.token).await?;
    let late = mcp.answer("forge_get_task", json!({ "task_id": own.id() })).await;
    ensure!(late.is_err(), "it is of no use any more: {late:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn each_start_issues_a_new_token_and_stores_none() -> Result<()> {
    let mut board = open().await?;
    let own = RunFixture::new(&board, "own", json!({})).await?;
    let file = board.folder.dir.path().join("own-token");
    // A run that goes on without its engine keeps its token.
    board.engine.terminate().await?;
    board.engine = board.folder.serve()?;
    let mcp = Mcp::with_token(&board.engine, &own.token).await?;
    mcp.call("forge_get_task", json!({ "task_id": own.id() })).await?;
    board.engine.interrupt().await?;
    std::fs::remove_file(&file)?;
    board.engine = board.folder.serve()?;
    let token = RunFixture::written(&board, &file).await?;
    assert_ne!(token, own.token);
    is_dead(&board, &own.token).await?;
    let mcp = Mcp::with_token(&board.engine, &token).await?;
    mcp.call("forge_get_task", json!({ "task_id": own.id() })).await?;

    let events = board.events("execution.started", 2).await?;
    ensure!(!json!(events).to_string().contains("run_"), "{events:#?}");
    let found = holding(&board.folder.data_dir(), &[own.token.as_bytes(), token.as_bytes()])?;
    ensure!(found.is_empty(), "a token lies in {found:?}");
    std::fs::write(&own.go, "")?;
    Ok(())
}

/// The files below a folder that contain one of the secrets.
fn holding(folder: &Path, secrets: &[&[u8]]) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() && !path.is_symlink() {
            found.extend(holding(&path, secrets)?);
        } else if path.is_file() {
            let content = std::fs::read(&path)?;
            let holds = |secret: &&[u8]| content.windows(secret.len()).any(|part| part == *secret);
            if secrets.iter().any(holds) {
                found.push(path);
            }
        }
    }
    Ok(found)
}

#[tokio::test(flavor = "multi_thread")]
async fn project_without_agent_tools_issues_no_run_token() -> Result<()> {
    let board = Board::served(json!({})).await?;
    let file = board.folder.dir.path().join("token");
    let line = format!("run printf '%s' \"${{FORGE_MCP_TOKEN-none}}\" > {}", file.display());
    let task = board.task(&[&line, "edit a <<< \"a\\n\""], with(json!({}), &json!({}))).await?;
    board.claim(&task).await?;
    board.engine.until(&task, |task| task["status"] == "done").await?;
    assert_eq!(std::fs::read_to_string(&file)?, "none");
    Ok(())
}

/// A task with a running reviewer, a drafted fix, and the tools of the reviewer.
struct ReviewFixture {
    board: Board<Served>,
    task: Value,
    mcp: Mcp,
    fix: Value,
    go: PathBuf,
}

impl ReviewFixture {
    async fn new(verdict: &str) -> Result<Self> {
        let board = open().await?;
        let folder = board.folder.dir.path();
        let program = drafter::install(&folder.join("drafter"), &format!("```diff\n{FIX}```\n"))?;
        let new = json!({ "name": "Drafter", "adapter": "acp", "config": { "program": program } });
        let id = board.engine.post("/agents", new).await?["id"].clone();
        let settings = json!({ "innerLoop": { "autoFix": { "agentId": id } } });
        board.patch(&format!("/projects/{}/settings", board.project), settings).await?;
        let (file, go) = (folder.join("token"), folder.join("go"));
        let writes = format!(
            "run printf '%s %s' \"$FORGE_MCP_TOKEN\" \"$FORGE_MCP_URL\" > {0}.new && mv {0}.new {0}",
            file.display()
        );
        let wait = format!("wait-for {}", go.display());
        let description = [
            ("attempt=1", vec!["edit total.txt <<< \"one\\nbad\\nthree\\n\""]),
            ("attempt=2", vec!["edit waived <<< \"yes\\n\""]),
            ("role=reviewer", vec![writes.as_str(), wait.as_str(), verdict]),
        ]
        .map(|(who, lines)| format!("```forge-script {who}\n{}\n```\n", lines.join("\n")))
        .concat();
        let new = json!({
            "title": "Do it", "description": description, "review_config": { "ci_steps": [CHECK] },
            "roles": { "coder": board.agent, "reviewer": board.agent },
        });
        let task = board.engine.task(&board.project, new).await?;
        board.claim(&task).await?;
        let token = RunFixture::written(&board, &file).await?;
        let mcp = Mcp::with_token(&board.engine, &token).await?;
        let fixes = mcp.call("list_fix_proposals", json!({ "task_id": task["id"] })).await?;
        let fix = fixes["proposals"][0].clone();
        ensure!(fix["status"] == "drafted", "{fixes:#}");
        Ok(Self { board, task, mcp, fix, go })
    }

    /// The fix as the API lists it.
    async fn fix(&self) -> Result<Value> {
        let path = format!("/tasks/{}/fixes", text(&self.task, "id"));
        Ok(self.board.engine.get(&path).await?["items"][0].clone())
    }
}

/// A reviewer's token may request a fix and changes nothing else.
#[tokio::test(flavor = "multi_thread")]
async fn reviewer_token_may_request_a_fix_and_nothing_else() -> Result<()> {
    let judged = ReviewFixture::new("verdict pass all of it").await?;
    let mcp = &judged.mcp;
    let named: Vec<&str> = mcp.tools.keys().map(String::as_str).collect();
    ensure!(named.contains(&"apply_fix_proposal") && !named.contains(&"forge_create_sub_tasks"), "{named:?}");
    let part = json!({ "task_id": judged.task["id"], "tasks": [{ "title": "Part" }] });
    let said = mcp.refusal("forge_create_sub_tasks", part).await?;
    ensure!(said.starts_with("out_of_scope: "), "{said}");
    let fix = json!({ "fix_id": judged.fix["fixId"] });
    let said = mcp.refusal("rollback_fix_proposal", fix.clone()).await?;
    ensure!(said.starts_with("fix_decided: "), "{said}");
    let wanted = mcp.call("apply_fix_proposal", fix).await?;
    let asker = json!(format!("agent:{}", judged.board.agent));
    assert_eq!((&wanted["status"], &wanted["wantedBy"]), (&json!("drafted"), &asker));
    let person = format!("/fixes/{}/apply", text(&judged.fix, "fixId"));
    let (status, body) = refused(judged.board.engine.request(Method::POST, &person)).await?;
    assert_eq!(
        (status, &body["code"]),
        (409, &json!("fix_blocked")),
        "for a person the task is being worked on"
    );
    std::fs::write(&judged.go, "")?;
    // What passed is what was judged.
    judged.board.engine.until(&judged.task, |task| task["status"] == "done").await?;
    let fix = judged.fix().await?;
    // It is of no use to a task that is closed.
    assert_eq!((&fix["status"], &fix["wantedBy"]), (&json!("superseded"), &Value::Null), "{fix:#}");
    assert_eq!(judged.board.folder.repo.git(&["show", "main:total.txt"])?, "one\nbad\nthree");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn rejecting_reviewer_has_the_requested_fix_applied_first() -> Result<()> {
    let judged = ReviewFixture::new("verdict fail it is not good").await?;
    let fix = json!({ "fix_id": judged.fix["fixId"] });
    judged.mcp.call("apply_fix_proposal", fix).await?;
    std::fs::write(&judged.go, "")?;
    judged.board.engine.until(&judged.task, |task| task["review"]["verdict"] == "fail").await?;
    let fix = judged.fix().await?;
    assert_eq!((&fix["status"], &fix["wantedBy"]), (&json!("verified"), &Value::Null), "{fix:#}");
    let asker = json!(format!("agent:{}", judged.board.agent));
    assert_eq!((&fix["decidedBy"], &fix["verification"]["passed"]), (&asker, &json!(true)), "{fix:#}");
    let commit = text(&fix, "appliedCommit");
    let total = judged.board.folder.repo.git(&["show", &format!("{commit}:total.txt")])?;
    assert_eq!(total, "one\ngood\nthree");
    Ok(())
}
