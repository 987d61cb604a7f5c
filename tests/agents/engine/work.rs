//! From todo to done: the work of an agent, its continuation after a failed check, and its review.

use anyhow::{Context as _, Result, ensure};
use forge_testkit::models::{AgentProgram, Scenario, Turn};
use serde_json::json;

use super::fixture::{EngineFixture, is, of_kind, text};

super::both!(
    task_is_done_and_its_session_logged,
    failed_check_is_fixed_in_a_forked_session,
    reset_budget_continues_the_session,
    restarted_task_begins_a_new_session,
    auditor_reviews_in_a_forked_session,
    review_without_verdict_is_asked_for_one,
    conflict_is_resolved_by_editing_files_only,
    workflow_chooses_how_a_session_continues,
);
super::with!(with_opencode, OpenCode:
    task_is_done_and_its_session_logged,
    failed_check_is_fixed_in_a_forked_session,
    auditor_reviews_in_a_forked_session,
);

/// The first run of a coder: it names a word to remember and replaces `hello`.
fn rewrite_scenario(word: &str) -> Scenario {
    Scenario::new("work")
        .turn(Turn::new().say("The word is heron.").edit("README.md", "hello", word))
        .turn(Turn::new().say("Rewritten."))
}

/// A project whose work a script checks.
async fn fixture_with_check(program: AgentProgram) -> Result<EngineFixture> {
    let settings = json!({ "review_config": { "ci_steps": ["sh check.sh"] } });
    let fixture = EngineFixture::with(program, json!({}), settings).await?;
    fixture.repo.write("check.sh", CHECK)?;
    fixture.repo.commit("check")?;
    Ok(fixture)
}

/// A project whose work is reviewed.
async fn fixture_with_review(program: AgentProgram) -> Result<EngineFixture> {
    EngineFixture::with(program, json!({}), json!({ "auto_approve": false })).await
}

const CHECK: &str = "test \"$(cat README.md)\" = goodbye || { echo 'README is rude'; exit 3; }\n";

async fn task_is_done_and_its_session_logged(program: AgentProgram) -> Result<EngineFixture> {
    let fixture = fixture_with_check(program).await?;
    let tag = fixture.server.script(
        Scenario::new("work")
            .turn(Turn::new().think("Where is it?").say("I look.").run("cat README.md"))
            .turn(Turn::new().edit("README.md", "hello", "goodbye").hold("edit"))
            .turn(Turn::new().say("It says goodbye now.\n\nAnd that is all.")),
    );
    let task = fixture.started(&tag, json!({})).await?;
    fixture.server.asked("work", 2).await?;
    // Its name is known while it works: whatever happens now, it can be gone on with.
    let run = fixture.wait_for_run(&task, |run| run["session_id"].is_string()).await?;
    assert_eq!(run["status"], "running", "{run:#}");
    fixture.server.release("edit");
    fixture.wait_for_task(&task, is("done")).await?;
    assert_eq!(fixture.repo.show("main", "README.md").as_deref(), Some("goodbye"));

    let runs = fixture.runs(&task).await?;
    assert_eq!(runs.len(), 1, "{runs:#?}");
    let ended = &runs[0];
    assert_eq!((&ended["status"], &ended["session_mode"]), (&json!("finished"), &json!("new")), "{ended:#}");
    assert_eq!(ended["session_id"], run["session_id"]);
    assert_eq!(ended["summary"], "It says goodbye now.");
    let delivery = fixture.get(&format!("/tasks/{}/delivery", text(&task, "id"))).await?;
    assert_eq!(delivery["summary"], "It says goodbye now.");

    let log = fixture.log(ended).await?;
    let kinds =
        ["session_started", "user_message", "reasoning", "assistant_text", "command", "file_change", "usage"];
    for kind in kinds {
        ensure!(!of_kind(&log, kind).is_empty(), "no {kind} in {log:#?}");
    }
    ensure!(of_kind(&log, "raw").is_empty(), "not understood: {:#?}", of_kind(&log, "raw"));
    // It is told as it begins and again as it ends.
    let command = of_kind(&log, "command").pop().context("no command")?;
    ensure!(text(&command["body"], "output").contains("hello"), "{command:#}");
    let said: Vec<String> =
        of_kind(&log, "assistant_text").iter().map(|it| text(&it["body"], "text")).collect();
    assert_eq!(said, ["I look.", "It says goodbye now.\n\nAnd that is all."]);
    let ends = of_kind(&log, "turn_ended");
    ensure!(ends.len() == 1 && ends[0].to_string().contains("completed"), "{ends:#?}");
    ensure!(fixture.server.refused().is_empty(), "{:?}", fixture.server.refused());
    Ok(fixture)
}

async fn failed_check_is_fixed_in_a_forked_session(program: AgentProgram) -> Result<EngineFixture> {
    let fixture = fixture_with_check(program).await?;
    let tag = fixture.server.script(
        Scenario::new("work")
            .when("README is rude")
            .turn(Turn::new().edit("README.md", "get out", "goodbye"))
            .turn(Turn::new().say("Polite now.")),
    );
    fixture.server.script(rewrite_scenario("get out"));
    let task = fixture.started(&tag, json!({})).await?;
    fixture.wait_for_task(&task, is("done")).await?;
    assert_eq!(fixture.repo.show("main", "README.md").as_deref(), Some("goodbye"));
    let runs = fixture.runs(&task).await?;
    assert_eq!(runs.len(), 2, "{runs:#?}");
    let (first, second) = (&runs[0], &runs[1]);
    assert_eq!((&second["session_mode"], &second["from_session"]), (&json!("fork"), &first["session_id"]));
    assert_ne!(second["session_id"], first["session_id"], "the first conversation stays as it was");
    assert_eq!(second["parent_execution_id"], first["id"]);
    let requests = fixture.server.requests().of("work");
    assert_eq!(requests.len(), 4);
    for request in &requests[2..] {
        ensure!(
            request.remembers("The word is heron.") && request.was_told("README is rude"),
            "{:?}",
            request.messages
        );
    }
    Ok(fixture)
}

/// A restart begins a new session, unlike a reset budget.
async fn restarted_task_begins_a_new_session(program: AgentProgram) -> Result<EngineFixture> {
    let fixture = fixture_with_check(program).await?;
    let tag = fixture.server.script(rewrite_scenario("get out"));
    let none = json!({ "task_state_config": { "retry_budgets": { "review": 0 } } });
    let task = fixture.started(&tag, none).await?;
    let blocked = fixture.wait_for_task(&task, is("blocked")).await?;
    assert_eq!(blocked["error_annotation"]["type"], "review_budget_exhausted", "{blocked:#}");
    let before = fixture.server.requests().of("work").len();
    fixture.act(&task, "actions/restart", json!({})).await?;
    fixture.act(&task, "claim", json!({ "agent_id": fixture.agent })).await?;
    fixture.wait_for_task(&task, |task| is("blocked")(task)).await?;
    let runs = fixture.runs(&task).await?;
    let [first, second] = runs.as_slice() else { anyhow::bail!("{runs:#?}") };
    assert_eq!((&second["session_mode"], &second["from_session"]), (&json!("new"), &json!(null)));
    assert_ne!(second["session_id"], first["session_id"]);
    let requests = fixture.server.requests().of("work");
    ensure!(requests.get(before).is_some_and(|it| !it.remembers("The word is heron.")), "it was reminded");
    Ok(fixture)
}

async fn reset_budget_continues_the_session(program: AgentProgram) -> Result<EngineFixture> {
    let settings = json!({ "review_config": { "ci_steps": ["sh check.sh"] } });
    let fixture = EngineFixture::with(program, json!({ "permissions": "unattended" }), settings).await?;
    fixture.repo.write("check.sh", CHECK)?;
    fixture.repo.commit("check")?;
    let tries = Turn::new().run("test -e tried && echo goodbye >README.md; touch tried");
    let mends = Scenario::new("work").when("README is rude");
    let tag = fixture.server.script(mends.turn(tries).turn(Turn::new().say("I tried.")));
    fixture.server.script(rewrite_scenario("get out"));
    let one = json!({ "task_state_config": { "retry_budgets": { "review": 1 } } });
    let task = fixture.started(&tag, one).await?;
    let blocked = fixture.wait_for_task(&task, is("blocked")).await?;
    assert_eq!(blocked["error_annotation"]["type"], "review_budget_exhausted", "{blocked:#}");
    fixture.act(&task, "actions/reset_budget?wait=none", json!({})).await?;
    fixture.wait_for_task(&task, is("done")).await?;
    let runs = fixture.runs(&task).await?;
    assert_eq!(runs.len(), 3, "{runs:#?}");
    assert_eq!(runs[2]["from_session"], runs[1]["session_id"], "{runs:#?}");
    let requests = fixture.server.requests().of("work");
    ensure!(requests.last().is_some_and(|it| it.remembers("The word is heron.")), "it forgot");
    Ok(fixture)
}

const FINDING: &str = r#"{"verdict": "fail", "score": 20, "summary": "line one is wrong",
 "findings": [{"file": "README.md", "line": 1, "severity": "error", "text": "say farewell"}]}"#;

async fn auditor_reviews_in_a_forked_session(program: AgentProgram) -> Result<EngineFixture> {
    let fixture = fixture_with_review(program).await?;
    let roles = json!({ "coder": fixture.agent, "reviewer": fixture.agent });
    // The auditor's instructions say this; the coder's do not. The second audit is told of the first one.
    let tag = fixture.server.script(
        Scenario::new("work")
            .when("# Earlier attempts")
            .turn(Turn::new().say("Better.\n\n===SCORE: 88===\n===REVIEW: PASS===")),
    );
    fixture.server.script(
        Scenario::new("work")
            .when("===REVIEW: PASS===")
            .turn(Turn::new().run("cat README.md"))
            .turn(Turn::new().say(FINDING)),
    );
    fixture.server.script(
        Scenario::new("work")
            .when("say farewell")
            .turn(Turn::new().edit("README.md", "goodbye", "farewell"))
            .turn(Turn::new().say("Farewell it is.")),
    );
    fixture.server.script(rewrite_scenario("goodbye"));
    let task = fixture.started(&tag, json!({ "roles": roles })).await?;
    fixture.wait_for_task(&task, is("done")).await?;
    assert_eq!(fixture.repo.show("main", "README.md").as_deref(), Some("farewell"));

    let runs = fixture.runs(&task).await?;
    let told: Vec<_> = runs.iter().map(|run| (text(run, "role"), text(run, "session_mode"))).collect();
    let expected = [("coder", "new"), ("reviewer", "fork"), ("coder", "fork"), ("reviewer", "fork")];
    assert_eq!(told, expected.map(|(role, mode)| (role.to_owned(), mode.to_owned())), "{runs:#?}");
    assert_eq!(runs[1]["from_session"], runs[0]["session_id"]);
    assert_ne!(runs[1]["session_id"], runs[0]["session_id"]);
    assert_eq!(runs[2]["from_session"], runs[0]["session_id"], "the coder's, not the auditor's");
    assert_eq!(runs[3]["from_session"], runs[2]["session_id"]);

    let reviews = fixture.items(&format!("/tasks/{}/reviews", text(&task, "id"))).await?;
    let verdicts: Vec<_> = reviews.iter().map(|review| text(review, "verdict")).collect();
    assert_eq!(verdicts, ["fail", "pass"]);
    assert_eq!(reviews[0]["reason"], "line one is wrong");
    assert_eq!(reviews[1]["audits"][0]["score"], 88, "{reviews:#?}");
    let comments = fixture.items(&format!("/tasks/{}/comments", text(&task, "id"))).await?;
    let comment = comments.first().context("no comment")?;
    assert_eq!(
        (&comment["source"], &comment["path"], &comment["line"], &comment["text"]),
        (&json!("auditor"), &json!("README.md"), &json!(1), &json!("say farewell")),
    );

    // The auditor saw what the coder said; the coder's second run did not see what the auditor said.
    let requests = fixture.server.requests().of("work");
    let audits: Vec<_> = requests.iter().filter(|it| it.was_told("===REVIEW: PASS===")).collect();
    ensure!(audits.len() >= 3, "{} of {}", audits.len(), requests.len());
    match program {
        // Its own review begins with nothing but what it is told; what it says goes into the thread of the fork.
        AgentProgram::Codex => {
            ensure!(
                !of_kind(&fixture.log(&runs[1]).await?, "review").is_empty(),
                "it reviews by its own means"
            );
        }
        _ => ensure!(audits.iter().all(|it| it.remembers("The word is heron.")), "the coder's conversation"),
    }
    let mending: Vec<_> = requests.iter().filter(|it| !it.was_told("===REVIEW: PASS===")).skip(2).collect();
    ensure!(
        !mending.is_empty() && mending.iter().all(|it| !it.remembers("line one is wrong")),
        "a trace of the audit"
    );
    Ok(fixture)
}

async fn review_without_verdict_is_asked_for_one(program: AgentProgram) -> Result<EngineFixture> {
    let fixture = fixture_with_review(program).await?;
    let roles = json!({ "coder": fixture.agent, "reviewer": fixture.agent });
    let verdict = json!({ "verdict": "pass", "summary": "All right.", "score": 77, "findings": [] });
    let asks = match program {
        AgentProgram::Codex => "You have just made a review",
        _ => "Your review has no verdict yet",
    };
    let tag = fixture.server.script(Scenario::new("work").untagged(asks).turn(Turn::new().answer(verdict)));
    fixture.server.script(
        Scenario::new("work")
            .when("===REVIEW: PASS===")
            .turn(Turn::new().say("I find nothing to complain about.")),
    );
    fixture.server.script(rewrite_scenario("goodbye"));
    let task = fixture.started(&tag, json!({ "roles": roles })).await?;
    fixture.wait_for_task(&task, is("done")).await?;
    let reviews = fixture.items(&format!("/tasks/{}/reviews", text(&task, "id"))).await?;
    let audit = &reviews[0]["audits"][0];
    assert_eq!((&audit["verdict"], &audit["score"]), (&json!("pass"), &json!(77)), "{reviews:#?}");
    let runs = fixture.runs(&task).await?;
    assert_eq!(runs.len(), 2, "it is asked in the same run: {runs:#?}");
    let requests = fixture.server.requests();
    let last = requests.scripted().last().cloned().context("no request")?;
    ensure!(
        last.was_told(asks) && last.remembers("I find nothing"),
        "it knows its review: {:?}",
        last.messages
    );
    ensure!(last.remembers("The word is heron."), "on the coder's conversation: {:?}", last.messages);
    Ok(fixture)
}

/// The programs may write only to the worktree, not to git's files, so Forge begins and completes the merge.
async fn conflict_is_resolved_by_editing_files_only(program: AgentProgram) -> Result<EngineFixture> {
    let fixture = fixture_with_review(program).await?;
    let tag = fixture.server.script(
        Scenario::new("work")
            .when("hold conflict markers")
            .turn(Turn::new().run("grep -c '^[<=>]\\{7\\}' README.md; git status --short"))
            .turn(Turn::new().run("printf 'hello and goodbye\\n' >README.md"))
            .turn(Turn::new().say("Both it is.")),
    );
    fixture.server.script(rewrite_scenario("goodbye"));
    let task = fixture.started(&tag, json!({})).await?;
    fixture.wait_for_task(&task, |task| task["review"]["status"] == "awaiting_human").await?;
    fixture.repo.write("README.md", "hello there\n")?;
    let theirs = fixture.repo.commit("theirs")?;
    fixture.act(&task, "review/approve?wait=none", json!({})).await?;
    fixture.wait_for_task(&task, is("done")).await?;
    assert_eq!(fixture.repo.show("main", "README.md").as_deref(), Some("hello and goodbye"));
    fixture.repo.git(&["merge-base", "--is-ancestor", &theirs, "main"])?;
    let runs = fixture.runs(&task).await?;
    let causes: Vec<_> = runs.iter().map(|run| text(run, "cause")).collect();
    assert_eq!(causes, ["started", "merge conflict"], "{runs:#?}");
    assert_eq!(runs[1]["session_mode"], "resume");
    let requests = fixture.server.requests().of("work");
    ensure!(requests.iter().any(|it| it.got_back("UU README.md")), "no merge was begun");
    ensure!(requests.last().is_some_and(|it| it.remembers("The word is heron.")), "it forgot");
    Ok(fixture)
}

async fn workflow_chooses_how_a_session_continues(program: AgentProgram) -> Result<EngineFixture> {
    let fixture = fixture_with_review(program).await?;
    let tag = fixture.server.script(
        Scenario::new("work")
            .when("Mind the workflow")
            .turn(Turn::new().run("echo more >>more.txt"))
            .turn(Turn::new().say("More.")),
    );
    fixture.server.script(rewrite_scenario("goodbye"));
    let task = fixture.started(&tag, json!({})).await?;
    for (round, mode) in ["new", "resume"].into_iter().enumerate() {
        let attempt = json!(round + 1);
        fixture
            .wait_for_task(&task, |task| {
                task["review"]["status"] == "awaiting_human" && task["review"]["attempt_number"] == attempt
            })
            .await?;
        let last = fixture.runs(&task).await?.pop().context("no run")?;
        fixture
            .trigger("review", "reject", json!({ "session": mode, "prompt": "Mind the workflow." }))
            .await?;
        fixture.act(&task, "review/reject?wait=none", json!({ "reason": "more" })).await?;
        let next = fixture
            .wait_for_run(&task, |run| run["attempt"] == round + 2 && run["status"] == "finished")
            .await?;
        let (from, own) = (&next["from_session"], &next["session_id"]);
        assert_eq!(next["session_mode"], mode);
        match mode {
            "new" => ensure!(from.is_null() && *own != last["session_id"], "{next:#}"),
            _ => ensure!(*from == last["session_id"] && own == from, "{next:#}"),
        }
        let requests = fixture.server.requests().of("work");
        let request = requests.last().context("no request")?;
        ensure!(request.was_told("Mind the workflow."), "{:?}", request.messages);
        // It was said in the conversation that the first of these left.
        ensure!(!request.remembers("The word is heron."), "{mode}: {:?}", request.messages);
    }
    Ok(fixture)
}
