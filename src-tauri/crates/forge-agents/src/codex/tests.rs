//! The adapter without a program: recorded and written lines, what becomes of them in the log, and what is said to
//! the server.

use std::{fmt::Write as _, path::PathBuf};

use forge_model::{agent::PermissionMode, execution::ExecutionRole, log::EntryKind};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::{CodexDialogue, Plan, fuzz_lines};
use crate::{AgentError, Ask, Dialogue as _, RunEvent, SessionRequest, replay::damage};

const COMMAND: &str = include_str!("recorded/command.jsonl");
const FILE_CHANGE: &str = include_str!("recorded/file_change.jsonl");
const REVIEW: &str = include_str!("recorded/review.jsonl");
const INTERRUPT: &str = include_str!("recorded/interrupt.jsonl");

const NOW: i64 = 1_000_000_000;

fn plan() -> Plan {
    Plan {
        prompt: "SCENARIO:shell run it".to_owned(),
        model: Some("gpt-5.5".to_owned()),
        effort: None,
        worktree: PathBuf::from("/w"),
        permissions: PermissionMode::Ask,
        role: ExecutionRole::Coder,
        session: SessionRequest::New,
        carry: None,
        turns: None,
        now_ms: || NOW,
    }
}

type Replay = crate::replay::Replay<CodexDialogue>;

impl Replay {
    fn new(plan: Plan) -> Self {
        Self::begin(CodexDialogue::new(plan))
    }

    /// One whose turn runs, by the name `turn`, in the thread `thread`.
    fn at_work(plan: Plan) -> Self {
        let mut replay = Self::new(plan);
        replay.hear(&json!({ "id": 1, "result": {} }));
        replay.hear(&json!({ "id": 2, "result": { "thread": { "id": "thread" }, "model": "m" } }));
        replay.hear(&json!({ "id": 3, "result": { "turn": { "id": "turn" } } }));
        replay
    }

    fn tell(&mut self, method: &str, params: Value) {
        let mut params = params;
        params["threadId"] = json!("thread");
        self.hear(&json!({ "method": method, "params": params }));
    }

    fn ask(&mut self, id: u64, method: &str, params: &Value) {
        self.hear(&json!({ "id": id, "method": method, "params": params }));
    }

    fn ends(&mut self, status: &str, error: &Value) {
        let turn = json!({ "id": "turn", "status": status, "error": error });
        self.tell("turn/completed", json!({ "turn": turn }));
    }

    /// All of it, to be read.
    fn report(&mut self) -> String {
        let mut text = String::new();
        for (turn, entry) in &self.entries {
            let status = entry.status.map_or("-", |status| status.as_str());
            let parent = entry.parent_id.as_ref().map(|id| format!(" <{id}")).unwrap_or_default();
            let at = entry.raw_offset.map_or_else(|| "-".to_owned(), |at| at.to_string());
            let (kind, id) = (entry.kind.as_str(), &entry.id);
            let _ = writeln!(text, "{turn} {kind} [{id}]{parent} {status} @{at} {}", entry.body);
        }
        for event in &self.told {
            let _ = writeln!(text, "! {event:?}");
        }
        for message in &self.sent {
            let _ = writeln!(text, "> {message}");
        }
        let _ = writeln!(text, "= {:#?}", self.dialogue.take_end());
        text
    }
}

fn unasked(ask: &Ask) -> &'static str {
    panic!("asked {ask:?}")
}

#[test]
fn a_command_is_asked_for_and_run() {
    let mut replay = Replay::new(plan());
    for line in COMMAND.lines() {
        replay.line(line);
        if line.contains("requestApproval") {
            replay.say("word-1", "be quick");
            replay.answer("ask-1", "accept", Some("go on"));
        }
    }
    assert!(replay.is_over());
    insta::assert_snapshot!(replay.report());
}

#[test]
fn a_file_is_changed() {
    let prompt = "SCENARIO:write make a file".to_owned();
    let mut replay = Replay::new(Plan {
        prompt,
        permissions: PermissionMode::Edit,
        effort: Some("high".to_owned()),
        ..plan()
    });
    replay.lines(FILE_CHANGE, unasked);
    insta::assert_snapshot!(replay.report());
}

#[test]
fn a_review_without_a_verdict_is_asked_for_one() {
    let session = SessionRequest::Fork("01a1ffef-7011-7523-a82f-53130a5c0379".to_owned());
    let mut replay = Replay::new(Plan { role: ExecutionRole::Reviewer, session, ..plan() });
    replay.lines(REVIEW, unasked);
    assert!(!replay.is_over(), "there is no verdict yet");
    replay.hear(&json!({ "id": 4, "result": { "turn": { "id": "t2" } } }));
    let thread = "01a1ffef-7236-7481-8e8e-d651578f56ab";
    let verdict = r#"{"verdict":"fail","summary":"Off by one.","score":40,"findings":[]}"#;
    let item = json!({ "type": "agentMessage", "id": "m", "text": verdict });
    replay.hear(
        &json!({ "method": "item/completed", "params": { "threadId": thread, "turnId": "t2", "item": item } }),
    );
    let turn = json!({ "id": "t2", "status": "completed" });
    replay.hear(&json!({ "method": "turn/completed", "params": { "threadId": thread, "turn": turn } }));
    assert!(replay.is_over());
    assert_eq!(replay.result(), Some(Ok(())));
    insta::assert_snapshot!(replay.report());
}

#[test]
fn a_review_with_a_verdict_is_enough() {
    let session = SessionRequest::Fork("01a1ffef-7011-7523-a82f-53130a5c0379".to_owned());
    let mut replay = Replay::new(Plan { role: ExecutionRole::Reviewer, session, ..plan() });
    let judged = REVIEW.replace("reads past the end.", "reads past the end.\\n\\n===REVIEW: FAIL===");
    replay.lines(&judged, unasked);
    assert!(replay.is_over());
    assert_eq!(replay.result(), Some(Ok(())));
    assert_eq!(replay.notices(), ["usage_unreported"]);
    assert_eq!(replay.of(EntryKind::AssistantText).len(), 1, "its outcome is told twice");
}

#[test]
fn an_interrupt_waits_for_the_turn_and_ends_what_it_left() {
    let thread = "01a1ffef-7011-7523-a82f-53130a5c0379".to_owned();
    let carry = json!({
        "total": {
            "inputTokens": 4800, "cachedInputTokens": 3200, "cacheWriteInputTokens": 0, "outputTokens": 136,
            "reasoningOutputTokens": 40,
        },
        "limited": 1,
    });
    let session = SessionRequest::Resume(thread);
    let prompt = "SCENARIO:slow after resume".to_owned();
    let mut replay = Replay::new(Plan { session, prompt, carry: Some(carry), ..plan() });
    for line in INTERRUPT.lines() {
        replay.line(line);
        if line.contains("agentMessage/delta") {
            replay.interrupt();
        }
    }
    assert!(!replay.is_over(), "its commands are still to be ended");
    assert_eq!(replay.last_sent()["method"], "thread/backgroundTerminals/clean");
    replay.hear(&json!({ "id": 5, "result": {} }));
    assert!(replay.is_over());
    assert_eq!(replay.result(), Some(Err(AgentError::Cancelled)));
    assert!(replay.told.iter().all(|event| !matches!(event, RunEvent::Used { .. })), "nothing new was used");
    insta::assert_snapshot!(replay.report());
}

#[test]
fn an_interrupt_comes_at_any_time() {
    let mut early = Replay::new(plan());
    early.interrupt();
    assert!(early.is_over());
    assert_eq!(early.result(), Some(Err(AgentError::Cancelled)));

    let mut before_the_turn = Replay::new(plan());
    before_the_turn.hear(&json!({ "id": 1, "result": {} }));
    before_the_turn.hear(&json!({ "id": 2, "result": { "thread": { "id": "thread" } } }));
    before_the_turn.interrupt();
    assert_eq!(before_the_turn.last_sent()["method"], "turn/start", "the turn has no name yet");
    before_the_turn.hear(&json!({ "id": 3, "result": { "turn": { "id": "turn" } } }));
    assert_eq!(before_the_turn.last_sent()["method"], "turn/interrupt");
    before_the_turn.hear(&json!({ "id": 4, "error": { "message": "no active turn" } }));
    assert_eq!(before_the_turn.last_sent()["method"], "thread/backgroundTerminals/clean");

    let mut finished = Replay::at_work(plan());
    finished.interrupt();
    finished.ends("completed", &Value::Null);
    finished.hear(&json!({ "id": 5, "result": {} }));
    assert_eq!(finished.result(), Some(Ok(())), "who has finished has finished");
}

#[test]
fn command_that_an_interrupt_ends_is_cancelled_also_when_it_is_told_as_failed() {
    let statuses = |is_interrupted: bool| -> Vec<&'static str> {
        let mut replay = Replay::at_work(plan());
        let item =
            json!({ "type": "commandExecution", "id": "c", "command": "bash -lc 'sleep 9'", "cwd": "/w" });
        replay.tell("item/started", json!({ "item": item }));
        if is_interrupted {
            replay.interrupt();
        }
        let mut ended = item;
        ended["status"] = json!("failed");
        ended["exitCode"] = json!(137);
        replay.tell("item/completed", json!({ "item": ended }));
        replay.of(EntryKind::Command).iter().filter_map(|entry| entry.status).map(|it| it.as_str()).collect()
    };
    assert_eq!(statuses(true), ["running", "cancelled"]);
    assert_eq!(statuses(false), ["running", "failed"]);
}

#[test]
fn what_runs_when_the_turn_ends_is_cancelled() {
    let mut replay = Replay::at_work(plan());
    let item = json!({ "type": "commandExecution", "id": "c", "command": "bash -lc 'sleep 9'", "cwd": "/w" });
    replay.tell("item/started", json!({ "item": item }));
    replay.ask(7, "item/commandExecution/requestApproval", &json!({ "itemId": "c", "command": "x" }));
    replay.ends("interrupted", &Value::Null);
    let commands = replay.of(EntryKind::Command);
    let statuses: Vec<_> = commands.iter().filter_map(|entry| entry.status).map(|it| it.as_str()).collect();
    assert_eq!(statuses, ["running", "cancelled"]);
    assert_eq!(commands[1].body["command"], "sleep 9");
    assert!(replay.told.contains(&RunEvent::Withdrawn { id: "ask-1".to_owned() }));
}

#[test]
fn a_thread_that_is_gone_begins_anew_and_one_in_use_does_not() {
    let session = SessionRequest::Resume("old".to_owned());
    let carry = Some(json!({ "total": { "inputTokens": 9 } }));
    let mut lost = Replay::new(Plan { session: session.clone(), carry, ..plan() });
    lost.hear(&json!({ "id": 1, "result": {} }));
    assert_eq!(lost.last_sent()["method"], "thread/resume");
    lost.hear(&json!({ "id": 2, "error": { "code": -32600, "message": "no rollout found" } }));
    assert_eq!(lost.last_sent()["method"], "thread/read");
    lost.hear(&json!({ "id": 3, "error": { "code": -32600, "message": "no rollout found" } }));
    assert_eq!(lost.last_sent()["method"], "thread/start");
    lost.hear(&json!({ "id": 4, "result": { "thread": { "id": "new" } } }));
    assert_eq!(lost.last_sent()["method"], "turn/start");
    assert_eq!(lost.notices(), ["session_lost"]);
    assert_eq!(lost.dialogue.take_end().session_id.as_deref(), Some("new"));
    let carried = lost.dialogue.take_end().carry.expect("there is a thread");
    assert_eq!(carried, json!({ "limited": 0 }), "the old thread's total is not the new one's");

    let mut in_use = Replay::new(Plan { session, ..plan() });
    in_use.hear(&json!({ "id": 1, "result": {} }));
    in_use.hear(&json!({ "id": 2, "error": { "message": "it has an active writer" } }));
    in_use.hear(&json!({ "id": 3, "result": { "thread": { "id": "old" } } }));
    let detail = "it has an active writer".to_owned();
    assert_eq!(in_use.result(), Some(Err(AgentError::Protocol { detail })));
}

#[test]
fn modes_are_the_servers_own_words() {
    for (permissions, role, expected) in [
        (PermissionMode::ReadOnly, ExecutionRole::Coder, ["never", "read-only", "readOnly"]),
        (PermissionMode::Ask, ExecutionRole::Coder, ["untrusted", "workspace-write", "workspaceWrite"]),
        (PermissionMode::Edit, ExecutionRole::Coder, ["on-request", "workspace-write", "workspaceWrite"]),
        (PermissionMode::Unattended, ExecutionRole::Coder, ["never", "workspace-write", "workspaceWrite"]),
        (PermissionMode::Unattended, ExecutionRole::Planner, ["never", "read-only", "readOnly"]),
        (PermissionMode::Edit, ExecutionRole::Reviewer, ["never", "read-only", "readOnly"]),
        (PermissionMode::Edit, ExecutionRole::Drafter, ["never", "read-only", "readOnly"]),
    ] {
        let replay = Replay::at_work(Plan { permissions, role, ..plan() });
        let (thread, turn) = (&replay.sent[2]["params"], &replay.sent[3]["params"]);
        let told = [&thread["approvalPolicy"], &thread["sandbox"], &turn["sandboxPolicy"]["type"]];
        assert_eq!(told.map(|it| it.as_str().unwrap_or_default()), expected);
        assert_eq!(turn["approvalPolicy"], expected[0]);
        assert_eq!(turn["cwd"], "/w");
    }
}

#[test]
fn nobody_is_asked_where_nobody_may_be() {
    for permissions in [PermissionMode::ReadOnly, PermissionMode::Unattended] {
        let mut replay = Replay::at_work(Plan { permissions, ..plan() });
        replay.ask(7, "item/commandExecution/requestApproval", &json!({ "command": "rm x" }));
        assert_eq!(*replay.last_sent(), json!({ "id": 7, "result": { "decision": "decline" } }));
        replay.ask(8, "item/permissions/requestApproval", &json!({}));
        assert_eq!(replay.last_sent()["result"], json!({ "permissions": {}, "scope": "turn" }));
        replay.ask(9, "mcpServer/elicitation/request", &json!({ "mode": "url", "message": "m" }));
        assert_eq!(replay.last_sent()["result"]["action"], "decline");
        assert!(replay.asked().is_empty());
        assert_eq!(replay.of(EntryKind::ApprovalResolved).len(), 3);
    }
}

#[test]
fn requests_that_nobody_serves_are_answered() {
    let mut replay = Replay::at_work(plan());
    for method in ["execCommandApproval", "applyPatchApproval", "item/tool/call", "future/thing"] {
        replay.ask(9, method, &json!({}));
        assert_eq!(replay.last_sent()["id"], 9);
        assert_eq!(replay.last_sent()["error"]["code"], -32601, "{method}");
    }
    assert_eq!(replay.of(EntryKind::Raw).len(), 4);
}

#[test]
fn answers_are_put_as_the_server_wants_them() {
    let mut replay = Replay::at_work(Plan { permissions: PermissionMode::Edit, ..plan() });
    let amendment = json!({ "acceptWithExecpolicyAmendment": { "execpolicy_amendment": ["echo", "x"] } });
    let decisions = json!(["accept", amendment, "cancel"]);
    let wanted = json!({ "command": "echo x", "reason": "why", "availableDecisions": decisions });
    replay.ask(1, "item/commandExecution/requestApproval", &wanted);
    replay.answer("ask-1", "nonsense", None);
    assert_eq!(replay.notices(), ["no_such_answer"], "it stays open");
    replay.answer("ask-1", "acceptWithExecpolicyAmendment", None);
    assert_eq!(*replay.last_sent(), json!({ "id": 1, "result": { "decision": amendment } }));

    let change = json!({ "path": "/w/a.rs", "kind": { "type": "update" }, "diff": "@@" });
    let item = json!({ "type": "fileChange", "id": "f", "changes": [change], "status": "inProgress" });
    replay.tell("item/started", json!({ "item": item }));
    replay.ask(2, "item/fileChange/requestApproval", &json!({ "itemId": "f" }));
    replay.answer("ask-2", "decline", Some("use b.rs"));
    let replies: Vec<&Value> = replay.sent.iter().rev().take(2).collect();
    assert_eq!(replies[1]["result"]["decision"], "decline");
    assert_eq!(replies[0]["method"], "turn/steer", "what is said along with it is told, too");
    assert_eq!(replies[0]["params"]["input"][0]["text"], "use b.rs");

    let files = json!({ "read": null, "write": ["/x"] });
    let wanted = json!({ "permissions": { "network": null, "fileSystem": files }, "reason": "r" });
    replay.ask(3, "item/permissions/requestApproval", &wanted);
    replay.answer("ask-3", "acceptForSession", None);
    let granted = json!({ "permissions": { "fileSystem": files }, "scope": "session" });
    assert_eq!(replay.last_sent()["result"], granted);

    let questions = json!([
        { "id": "colour", "header": "H", "question": "Which?", "options": [{ "label": "red" }, { "label": "blue" }] },
        { "id": "name", "question": "Name?" },
    ]);
    replay.ask(4, "item/tool/requestUserInput", &json!({ "questions": questions }));
    replay.answer("ask-4", "1", None);
    replay.answer("ask-5", "other", Some("Heron"));
    let answers = json!({ "colour": { "answers": ["blue"] }, "name": { "answers": ["Heron"] } });
    assert_eq!(*replay.last_sent(), json!({ "id": 4, "result": { "answers": answers } }));

    let schema = json!({ "type": "object", "properties": { "n": { "type": "number" } } });
    let form =
        json!({ "mode": "form", "message": "How many?", "serverName": "s", "requestedSchema": schema });
    replay.ask(5, "mcpServer/elicitation/request", &form);
    replay.answer("ask-6", "other", Some("3"));
    assert_eq!(replay.last_sent()["result"]["content"], json!({ "n": 3 }));

    let secret = json!({ "questions": [{ "id": "k", "question": "Key?", "isSecret": true }] });
    replay.ask(6, "item/tool/requestUserInput", &secret);
    assert_eq!(replay.last_sent()["result"], json!({ "answers": {} }), "a secret is not to be stored");
    let shown: Vec<_> = replay.asked().into_iter().cloned().collect();
    insta::assert_debug_snapshot!(shown);
}

#[test]
fn a_question_that_is_settled_elsewhere_is_withdrawn() {
    let mut replay = Replay::at_work(plan());
    replay.ask(4, "item/commandExecution/requestApproval", &json!({ "command": "x" }));
    replay.tell("serverRequest/resolved", json!({ "requestId": 4 }));
    assert!(replay.told.contains(&RunEvent::Withdrawn { id: "ask-1".to_owned() }));
    let before = replay.sent.len();
    replay.answer("ask-1", "accept", None);
    assert_eq!(replay.sent.len(), before, "it is too late");
}

#[test]
fn words_wait_for_a_turn_and_are_heard_when_they_are_taken() {
    let mut replay = Replay::new(plan());
    replay.say("early", "first");
    replay.hear(&json!({ "id": 1, "result": {} }));
    replay.hear(&json!({ "id": 2, "result": { "thread": { "id": "thread" } } }));
    replay.hear(&json!({ "id": 3, "result": { "turn": { "id": "turn" } } }));
    assert_eq!(replay.last_sent()["method"], "turn/steer");
    assert_eq!(replay.last_sent()["params"]["expectedTurnId"], "turn");
    assert!(!replay.told.contains(&RunEvent::Heard { id: "early".to_owned() }));
    replay.hear(&json!({ "id": 4, "result": { "turnId": "turn" } }));
    assert!(replay.told.contains(&RunEvent::Heard { id: "early".to_owned() }));
    replay.say("late", "second");
    replay.hear(&json!({ "id": 5, "error": { "code": -32600, "message": "no active turn to steer" } }));
    assert!(!replay.told.contains(&RunEvent::Heard { id: "late".to_owned() }));
    assert_eq!(replay.notices(), ["message_not_taken"]);
}

#[test]
fn failures_are_typed_and_a_retry_is_none() {
    let mut replay = Replay::at_work(plan());
    let retried = json!({
        "message": "Reconnecting... 1/1",
        "codexErrorInfo": { "responseStreamDisconnected": { "httpStatusCode": 429 } },
        "additionalDetails": "exceeded retry limit, last status: 429 Too Many Requests",
    });
    replay.tell("error", json!({ "error": retried, "willRetry": true }));
    assert_eq!((replay.result(), replay.notices()), (None, vec!["retrying"]));
    let limited = json!({
        "message": "exceeded retry limit",
        "codexErrorInfo": { "responseTooManyFailedAttempts": { "httpStatusCode": 429 } },
    });
    replay.tell("error", json!({ "error": limited, "willRetry": false }));
    replay.ends("failed", &limited);
    assert_eq!(replay.result(), Some(Err(AgentError::RateLimited { until_ms: NOW + 60_000 })));
    assert_eq!(replay.notices(), ["retrying", "error", "rate_limited"]);
    let carry = replay.dialogue.take_end().carry;

    let mut again = Replay::at_work(Plan { carry, ..plan() });
    again.ends("failed", &limited);
    assert_eq!(again.result(), Some(Err(AgentError::RateLimited { until_ms: NOW + 120_000 })), "it grows");

    let mut told = Replay::at_work(plan());
    let limits = json!({ "primary": { "usedPercent": 97, "resetsAt": 1_000_900 } });
    told.tell("account/rateLimits/updated", json!({ "rateLimits": limits }));
    told.ends("failed", &json!({ "message": "m", "codexErrorInfo": "usageLimitExceeded" }));
    assert_eq!(told.result(), Some(Err(AgentError::RateLimited { until_ms: 1_000_900_000 })));

    let mut silent = Replay::at_work(plan());
    let denied = json!({ "message": "no", "codexErrorInfo": "unauthorized" });
    silent.tell("error", json!({ "error": denied, "willRetry": false }));
    silent.ends("failed", &Value::Null);
    assert_eq!(silent.result(), Some(Err(AgentError::Auth { detail: "no".to_owned() })));
}

#[test]
fn no_more_calls_than_allowed() {
    let tokens = |n: u64| json!({ "inputTokens": 10 * n, "outputTokens": n });
    let mut replay = Replay::at_work(Plan { turns: Some(2), ..plan() });
    for call in 1..=2 {
        replay.tell("item/started", json!({ "item": { "type": "agentMessage", "id": "a" } }));
        replay.tell(
            "thread/tokenUsage/updated",
            json!({ "tokenUsage": { "total": tokens(call), "last": tokens(1) } }),
        );
        assert!(!replay.fake_run.handle().cancel.is_cancelled(), "the last call may be the end of the turn");
    }
    replay.tell("item/completed", json!({ "item": { "type": "agentMessage", "id": "a", "text": "x" } }));
    assert!(!replay.fake_run.handle().cancel.is_cancelled());
    replay.tell("item/started", json!({ "item": { "type": "agentMessage", "id": "b" } }));
    assert!(replay.fake_run.handle().cancel.is_cancelled());
}

#[test]
fn a_helpers_words_are_not_the_agents() {
    let mut replay = Replay::at_work(plan());
    let call = json!({ "type": "collabAgentToolCall", "id": "h", "tool": "spawnAgent", "receiverThreadIds": ["t2"] });
    replay.tell("item/started", json!({ "item": call }));
    let item = json!({ "type": "agentMessage", "id": "m", "text": "===REVIEW: PASS===" });
    replay.hear(&json!({ "method": "item/completed", "params": { "threadId": "t2", "item": item } }));
    replay.hear(&json!({ "method": "turn/completed", "params": {
        "threadId": "t2", "turn": { "id": "x", "status": "failed" } } }));
    assert!(replay.of(EntryKind::AssistantText).is_empty());
    assert_eq!(replay.of(EntryKind::ToolCall)[1].parent_id.as_deref(), Some("h"));
    assert_eq!(replay.result(), None, "its end is not the agent's");
}

#[test]
fn what_nobody_knows_is_kept_as_it_came() {
    let mut replay = Replay::at_work(plan());
    replay.line("not json");
    replay.tell("item/completed", json!({ "item": { "type": "hologram", "id": "x" } }));
    replay.hear(&json!({ "method": "future/event", "params": {} }));
    replay.hear(&json!({ "id": 99, "result": {} }));
    assert_eq!(replay.of(EntryKind::Raw).len(), 4);
    replay.tell("thread/readState/changed", json!({}));
    replay.tell("item/agentMessage/delta", json!({ "itemId": "m", "delta": "a\n\nb" }));
    assert_eq!(replay.of(EntryKind::Raw).len(), 4, "and what needs no entry has none");
}

fn recorded() -> Vec<Vec<u8>> {
    [COMMAND, FILE_CHANGE, REVIEW, INTERRUPT]
        .iter()
        .flat_map(|text| text.lines())
        .map(|line| line.as_bytes().to_vec())
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// Any cut, repetition, order and damage of real lines.
    #[test]
    fn no_order_of_lines_panics(
        choice in any::<u8>(),
        picks in prop::collection::vec((0_usize..92, any::<u16>(), 0_u8..4), 0..120),
        garbage in prop::collection::vec(any::<u8>(), 0..64),
    ) {
        let lines = recorded();
        let mut bytes = vec![choice];
        for (pick, at, how) in picks {
            let mut line = lines[pick % lines.len()].clone();
            damage(&mut line, how, at, &garbage);
            bytes.extend(line);
            bytes.push(b'\n');
        }
        fuzz_lines(&bytes);
    }

    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..512)) {
        fuzz_lines(&bytes);
    }
}
