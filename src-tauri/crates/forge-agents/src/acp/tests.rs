//! What agents were seen to print, read again: `recorded/` holds sessions of opencode 1.18.33, gemini 0.61.0,
//! claude-agent-acp 0.100.0 and codex-acp 2.6.0 with a scripted model, several turns of one run together.

use std::path::PathBuf;

use forge_model::{
    agent::PermissionMode,
    approval::{ApprovalChoice, ApprovalKind},
    execution::ExecutionRole,
    log::{EntryKind, EntryStatus},
    usage::{UsageSample, by_model},
};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::{AgentError, Ask, LimitKind, RunEvent, SessionRequest, replay::damage};

use super::{
    asking,
    dialogue::{AcpDialogue, Brief},
    fuzz_lines,
};

const NOW: i64 = 1_800_000_000_000;

const TOUR: &str = include_str!("recorded/opencode_tour.jsonl");
const ASKED: &str = include_str!("recorded/opencode_asked.jsonl");
const LOADED: &str = include_str!("recorded/opencode_load.jsonl");
const CANCELLED: &str = include_str!("recorded/opencode_cancel.jsonl");
const E400: &str = include_str!("recorded/opencode_e400.jsonl");
const GEMINI: &str = include_str!("recorded/gemini.jsonl");
const CLAUDE: &str = include_str!("recorded/claude_acp.jsonl");
const CODEX: &str = include_str!("recorded/codex_acp.jsonl");
const ALL: &[&str] = &[TOUR, ASKED, LOADED, CANCELLED, E400, GEMINI, CLAUDE, CODEX];

type Replay = crate::replay::Replay<AcpDialogue>;

fn brief() -> Brief {
    Brief {
        prompt: "Do the work.".to_owned(),
        role: ExecutionRole::Coder,
        permissions: PermissionMode::Edit,
        worktree: PathBuf::from("/w"),
        model: None,
        effort: None,
        turns: Some(7),
        session: SessionRequest::New,
        carry: None,
        mcp: None,
    }
}

fn resumed() -> Brief {
    Brief { session: SessionRequest::Resume("s".to_owned()), ..brief() }
}

impl Replay {
    fn new(brief: Brief) -> Self {
        Self::begin(AcpDialogue::new(brief).at(|| NOW))
    }

    /// The methods that were asked for, and the answers that were given.
    fn methods(&self) -> Vec<String> {
        let name = |line: &Value| match (line["method"].as_str(), line["result"]["outcome"].as_object()) {
            (Some(method), _) => method.to_owned(),
            (None, Some(outcome)) => outcome
                .get("optionId")
                .and_then(Value::as_str)
                .map_or_else(|| "unanswered".to_owned(), |option| format!("-> {option}")),
            (None, None) => format!("error {}", line["error"]["code"]),
        };
        self.sent.iter().map(name).collect()
    }

    fn used(&self) -> Vec<UsageSample> {
        let sample = |event: &RunEvent| match event {
            RunEvent::Used { sample, .. } => Some(sample.clone()),
            _ => None,
        };
        by_model(&self.told.iter().filter_map(sample).collect::<Vec<_>>())
    }
}

fn nobody(ask: &Ask) -> &'static str {
    panic!("asked {ask:?}")
}

fn greeting(capabilities: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": 1, "result": { "protocolVersion": 1, "agentCapabilities": capabilities } })
}

fn answer(id: u64, result: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "result": result })
}

fn failed(id: u64, code: i64, data: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": "No.", "data": data } })
}

fn update(update: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "method": "session/update", "params": { "sessionId": "s", "update": update } })
}

fn says(text: &str) -> Value {
    update(&json!({ "sessionUpdate": "agent_message_chunk", "content": { "type": "text", "text": text } }))
}

fn costs(amount: f64) -> Value {
    let cost = json!({ "amount": amount, "currency": "USD" });
    update(&json!({ "sessionUpdate": "usage_update", "used": 1, "size": 2, "cost": cost }))
}

fn opened() -> Vec<Value> {
    vec![greeting(&json!({})), answer(2, &json!({ "sessionId": "s" }))]
}

#[test]
fn a_whole_run_becomes_entries() {
    let mut replay = Replay::new(brief()).replay(TOUR, nobody);
    assert!(replay.is_over());
    insta::assert_json_snapshot!(replay.shown());
    let said = replay.take_end();
    assert_eq!(said.result, Some(Ok(())));
    assert_eq!(said.summary.as_deref(), Some("The command ran. Done."));
    assert_eq!(said.carry, Some(json!({ "cost_micro_usd": 2740 })));
    assert_eq!(replay.methods(), ["initialize", "session/new", "session/prompt"]);
    assert_eq!(replay.sent[2]["params"]["prompt"][0]["text"], "Do the work.");
    let capabilities = &replay.sent[0]["params"]["clientCapabilities"];
    assert_ne!(capabilities["terminal"], true);
    assert_ne!(capabilities["fs"]["writeTextFile"], true, "{capabilities}");
    let used = replay.used();
    let expected = UsageSample {
        model: "fake/fake-model".to_owned(),
        input_uncached: 400,
        cache_read: 800,
        cache_write: 0,
        output: 34,
        reasoning: 10,
        cost_micro_usd: Some(2740),
    };
    assert_eq!(used, [expected]);
}

#[test]
fn a_person_is_asked_and_the_answer_passed_on() {
    let asks = std::cell::RefCell::new(Vec::new());
    let replay = Replay::new(Brief { permissions: PermissionMode::Ask, ..brief() }).replay(ASKED, |ask| {
        asks.borrow_mut().push(json!({
            "kind": ask.kind, "title": ask.title, "detail": ask.detail, "options": ask.options,
        }));
        "once"
    });
    insta::assert_json_snapshot!(asks.into_inner());
    assert_eq!(
        replay.methods(),
        ["initialize", "session/new", "session/prompt", "-> once", "-> once", "error -32601"],
        "it has no files of ours"
    );
    let changes = replay.of(EntryKind::FileChange);
    let last = changes.last().map(|it| (it.status, it.body["change"].clone(), it.body["diff"].clone()));
    let diff = "--- /dev/null\n+++ b/NOTES.md\n@@ -0,0 +1,2 @@\n+line one\n+line two\n";
    assert_eq!(last, Some((Some(EntryStatus::Completed), json!("add"), json!(diff))));
    assert_eq!(replay.of(EntryKind::ApprovalResolved).len(), 2);
}

#[test]
fn calls_are_first_heard_of_by_a_question() {
    let wanted = Brief { model: Some("gemini-2.5-flash".to_owned()), ..brief() };
    let mut replay = Replay::new(wanted).replay(GEMINI, |_| "proceed_once");
    insta::assert_json_snapshot!(replay.shown());
    assert_eq!(replay.take_end().result, Some(Ok(())));
    assert_eq!(replay.methods()[..4], ["initialize", "session/new", "session/set_model", "session/prompt"]);
    let used = replay.used();
    assert_eq!((used[0].model.as_str(), used[0].input_uncached), ("gemini-2.5-flash", 2400));
    assert_eq!(used[0].cost_micro_usd, None);
}

#[test]
fn other_agents_are_understood_as_well() {
    let claude = Replay::new(brief()).replay(CLAUDE, |_| "allow-once");
    let codex = Replay::new(brief()).replay(CODEX, nobody);
    insta::assert_json_snapshot!(json!({ "claude": claude.shown(), "codex": codex.shown() }));
    let used = claude.used();
    assert_eq!((used[0].model.as_str(), used[0].cost_micro_usd), ("claude-opus-5-5", Some(4880)));
    let used = codex.used();
    assert_eq!((used[0].model.as_str(), used[0].output, used[0].cost_micro_usd), ("gpt-5.5", 68, None));
}

#[test]
fn what_a_loaded_session_says_again_is_neither_logged_nor_counted() {
    let carry = Some(json!({ "cost_micro_usd": 3288 }));
    let mut replay = Replay::new(Brief { carry, ..resumed() }).replay(LOADED, |_| "once");
    assert_eq!(replay.methods(), ["initialize", "session/load", "session/prompt", "-> once"]);
    assert_eq!(replay.sent[1]["params"]["sessionId"], "s");
    let words: Vec<_> =
        replay.of(EntryKind::AssistantText).iter().map(|it| it.body["text"].clone()).collect();
    assert_eq!(words, ["I will run a command.", "The command ran. Done."]);
    assert!(replay.of(EntryKind::FileChange).is_empty(), "{:?}", replay.of(EntryKind::FileChange));
    assert_eq!(replay.used()[0].cost_micro_usd, Some(4384 - 3288));
    let said = replay.take_end();
    assert_eq!(
        (said.session_id.as_deref(), said.carry),
        (Some("s"), Some(json!({ "cost_micro_usd": 4384 })))
    );
    let carried = replay.told.iter().find_map(|event| match event {
        RunEvent::Used { carry, .. } => carry.clone(),
        _ => None,
    });
    assert_eq!(carried, Some(json!({ "cost_micro_usd": 4384 })), "it is written down with what it counts");
}

#[test]
fn a_session_that_is_gone_is_begun_anew() {
    let load = json!({ "loadSession": true });
    let lines = [greeting(&load), failed(2, -32603, &json!({})), answer(3, &json!({ "sessionId": "n" }))];
    let mut replay = Replay::new(resumed()).hear_all(&lines);
    assert_eq!(replay.methods(), ["initialize", "session/load", "session/new", "session/prompt"]);
    assert_eq!(replay.notices(), ["session_lost"]);
    assert_eq!(replay.take_end().session_id.as_deref(), Some("n"));

    let lines = [greeting(&json!({})), answer(2, &json!({ "sessionId": "n" }))];
    let replay = Replay::new(resumed()).hear_all(&lines);
    assert_eq!(replay.methods(), ["initialize", "session/new", "session/prompt"], "it cannot load at all");
    assert_eq!(replay.notices(), ["session_lost"]);
}

#[test]
fn a_fork_is_a_fork_where_there_is_one() {
    let fork = || Brief { session: SessionRequest::Fork("s".to_owned()), ..brief() };
    let can = json!({ "loadSession": true, "sessionCapabilities": { "fork": {} } });
    let mut replay = Replay::new(fork()).hear_all(&[greeting(&can), answer(2, &json!({ "sessionId": "f" }))]);
    assert_eq!(replay.methods(), ["initialize", "session/fork", "session/prompt"]);
    assert_eq!(replay.take_end().session_id.as_deref(), Some("f"));

    let replay =
        Replay::new(fork()).hear_all(&[greeting(&json!({ "loadSession": true })), answer(2, &Value::Null)]);
    assert_eq!(replay.methods(), ["initialize", "session/load", "session/prompt"]);
    assert_eq!(replay.notices(), ["fork_unavailable"]);

    let lines = [greeting(&can), failed(2, -32603, &json!({})), failed(3, -32002, &json!({}))];
    let replay = Replay::new(fork()).hear_all(&lines);
    assert_eq!(replay.methods(), ["initialize", "session/fork", "session/load", "session/new"]);
    assert_eq!(replay.notices(), ["fork_unavailable", "session_lost"]);

    let resume = json!({ "sessionCapabilities": { "resume": {} } });
    let replay = Replay::new(resumed()).hear_all(&[greeting(&resume), answer(2, &json!({}))]);
    assert_eq!(replay.methods(), ["initialize", "session/resume", "session/prompt"]);
}

#[test]
fn choices_are_made_where_they_are_offered() {
    let select = |id: &str, category: &str, current: &str, other: &str| {
        json!({ "id": id, "name": id, "category": category, "type": "select", "currentValue": current,
            "options": [{ "value": current, "name": current }, { "value": other, "name": other }] })
    };
    let session = json!({ "sessionId": "s", "configOptions": [
        select("m", "model", "a", "b"), select("t", "thought_level", "low", "high"),
        select("mode", "mode", "auto", "read-only"),
    ] });
    let wanted = |permissions| Brief {
        model: Some("b".to_owned()),
        effort: Some("high".to_owned()),
        permissions,
        ..brief()
    };
    let lines = [greeting(&json!({})), answer(2, &session)];
    let done: Vec<_> = (3..6).map(|id| answer(id, &json!({ "configOptions": [] }))).collect();
    let replay = Replay::new(wanted(PermissionMode::ReadOnly)).hear_all(&lines).hear_all(&done);
    let chosen: Vec<_> = replay
        .sent
        .iter()
        .filter_map(|it| Some((it["params"]["configId"].as_str()?, &it["params"]["value"])))
        .collect();
    assert_eq!(chosen, [("mode", &json!("read-only")), ("m", &json!("b")), ("t", &json!("high"))]);
    let session = replay.told.iter().find(|event| matches!(event, RunEvent::Session { .. }));
    assert_eq!(session, Some(&RunEvent::Session { id: "s".to_owned(), model: Some("b".to_owned()) }));

    let mut replay =
        Replay::new(wanted(PermissionMode::Edit)).hear_all(&lines).hear_all(&[failed(3, -32602, &json!({}))]);
    assert_eq!(replay.error().map(|error| error.code()), Some("model_error"), "no other model is taken");
    let replay = Replay::new(wanted(PermissionMode::Edit)).hear_all(&opened());
    assert_eq!(replay.notices(), ["choice_unavailable", "choice_unavailable"]);
}

fn permission(kind: &str, path: &str, options: &[(&str, &str)]) -> Value {
    let options: Vec<_> =
        options.iter().map(|(id, kind)| json!({ "optionId": id, "name": id, "kind": kind })).collect();
    let call = json!({ "toolCallId": "c", "title": "the title", "kind": kind, "status": "pending",
        "locations": [{ "path": path }], "rawInput": { "command": "make" } });
    json!({ "jsonrpc": "2.0", "id": "q", "method": "session/request_permission",
        "params": { "sessionId": "s", "toolCall": call, "options": options } })
}

const OPTIONS: &[(&str, &str)] =
    &[("always", "allow_always"), ("yes", "allow_once"), ("never", "reject_always"), ("no", "reject_once")];

#[test]
fn permissions_follow_the_mode() {
    let ruled = |permissions, kind: &str, path: &str, options: &[(&str, &str)]| {
        let mut lines = opened();
        lines.push(permission(kind, path, options));
        let replay = Replay::new(Brief { permissions, ..brief() }).hear_all(&lines);
        replay.methods().get(3).cloned().unwrap_or_else(|| "asked".to_owned())
    };
    use PermissionMode::{Ask, Edit, ReadOnly, Unattended};
    for (kind, path, expected) in [
        ("read", "/w/a", ["-> yes", "asked", "-> yes", "-> yes"]),
        ("search", "/w/a", ["-> yes", "asked", "-> yes", "-> yes"]),
        ("fetch", "/w/a", ["-> yes", "asked", "-> yes", "-> yes"]),
        ("think", "/w/a", ["-> yes", "asked", "-> yes", "-> yes"]),
        ("edit", "/w/a", ["-> no", "asked", "-> yes", "-> yes"]),
        ("delete", "/w/a", ["-> no", "asked", "-> yes", "-> yes"]),
        ("move", "/w/a", ["-> no", "asked", "-> yes", "-> yes"]),
        ("edit", "/w/../etc/a", ["-> no", "asked", "asked", "-> no"]),
        ("edit", "/etc/a", ["-> no", "asked", "asked", "-> no"]),
        ("edit", "/w/.git/config", ["-> no", "asked", "asked", "-> no"]),
        ("execute", "/w", ["-> no", "asked", "asked", "-> yes"]),
        ("other", "/w/a", ["-> no", "asked", "asked", "-> no"]),
        ("of tomorrow", "/w/a", ["-> no", "asked", "asked", "-> no"]),
    ] {
        let given = [ReadOnly, Ask, Edit, Unattended].map(|mode| ruled(mode, kind, path, OPTIONS));
        assert_eq!(given, expected, "{kind} {path}");
    }
    let few = &[("always", "allow_always"), ("never", "reject_always")];
    assert_eq!(ruled(Edit, "edit", "/w/a", few), "asked", "nothing is allowed for longer without a person");
    assert_eq!(ruled(Unattended, "edit", "/w/a", few), "-> never");
    assert_eq!(ruled(Ask, "edit", "/w/a", &[]), "unanswered");
}

#[test]
fn an_answer_may_refuse_and_stop() {
    let mut lines = opened();
    lines.push(permission("execute", "/w", OPTIONS));
    let mut replay = Replay::new(brief()).hear_all(&lines);
    let Some(ask) = replay.asked().first().copied().cloned() else {
        panic!("nobody was asked: {:?}", replay.told)
    };
    assert_eq!((ask.kind, ask.title.as_str()), (ApprovalKind::Command, "make"));
    let stop = ask.options.iter().find(|option| option.choice == ApprovalChoice::Stop);
    let stop = stop.map(|option| option.id.clone()).unwrap_or_default();
    replay.answer(&ask.id, "no such option", None);
    replay.answer("no such question", &stop, None);
    assert_eq!(replay.sent.len(), 3, "it still waits");
    replay.answer(&ask.id, &stop, None);
    assert_eq!(replay.methods()[3..], ["unanswered", "session/cancel"]);
    // opencode ends a turn that it was told to stop while it waited for the model as if it had come to its end.
    replay.hear(&answer(3, &json!({ "stopReason": "end_turn" })));
    assert_eq!(replay.error(), Some(AgentError::Cancelled));
    let commands = replay.of(EntryKind::Command);
    assert_eq!(commands.last().and_then(|entry| entry.status), Some(EntryStatus::Declined));
}

#[test]
fn an_interrupt_answers_what_waits_and_waits_for_the_end() {
    let mut lines = opened();
    lines.push(permission("execute", "/w", OPTIONS));
    let mut replay = Replay::new(brief()).hear_all(&lines);
    replay.interrupt();
    assert_eq!(replay.methods()[3..], ["unanswered", "session/cancel"]);
    assert!(!replay.is_over());
    replay.hear(&permission("edit", "/w/a", OPTIONS));
    assert_eq!(replay.methods().last().map(String::as_str), Some("unanswered"), "what is asked meanwhile");
    replay.hear(&answer(3, &json!({ "stopReason": "cancelled" })));
    assert!(replay.is_over());
    assert_eq!(replay.error(), Some(AgentError::Cancelled));

    let mut early = Replay::new(brief());
    early.interrupt();
    assert!(early.is_over(), "there is no turn to wait for");

    let mut replay = Replay::new(brief()).replay(CANCELLED, nobody);
    assert_eq!(replay.error(), Some(AgentError::Cancelled));
}

#[test]
fn ends_are_typed() {
    let ended = |reason: &str| {
        let mut lines = opened();
        lines.push(answer(3, &json!({ "stopReason": reason })));
        Replay::new(brief()).hear_all(&lines).take_end().result
    };
    assert_eq!(ended("end_turn"), Some(Ok(())));
    assert_eq!(ended("max_turn_requests"), Some(Err(AgentError::Limit(LimitKind::Turns(7)))));
    let code = |reason| ended(reason).and_then(Result::err).map(|error| error.code());
    assert_eq!(
        ["max_tokens", "refusal", "cancelled", "of tomorrow"].map(code),
        [Some("model_error"), Some("refused"), Some("cancelled"), Some("protocol")]
    );
    let mut replay = Replay::new(brief()).replay(E400, nobody);
    assert!(matches!(replay.error(), Some(AgentError::ModelError { detail }) if detail.contains("fake 400")));

    let mut replay = Replay::new(resumed())
        .hear_all(&[greeting(&json!({ "loadSession": true })), failed(2, -32000, &json!({}))]);
    assert_eq!(replay.error().map(|error| error.code()), Some("auth"), "no other session is tried");
    let old = json!({ "jsonrpc": "2.0", "id": 1, "result": { "protocolVersion": 2 } });
    assert_eq!(Replay::new(brief()).hear_all(&[old]).error().map(|error| error.code()), Some("protocol"));
    let limited = [opened(), vec![failed(3, 429, &json!({ "retryAfter": 7 }))]].concat();
    assert_eq!(
        Replay::new(brief()).hear_all(&limited).error(),
        Some(AgentError::RateLimited { until_ms: NOW + 7000 })
    );
}

#[test]
fn a_reviewer_is_asked_for_its_verdict_once() {
    let reviewer =
        || Brief { role: ExecutionRole::Reviewer, permissions: PermissionMode::ReadOnly, ..brief() };
    let done = |id| answer(id, &json!({ "stopReason": "end_turn" }));
    let lines = [opened(), vec![says("Looks good."), done(3), says("===REVIEW: PASS==="), done(4)]].concat();
    let mut replay = Replay::new(reviewer()).hear_all(&lines);
    assert_eq!(replay.notices(), ["verdict_missing"]);
    assert_eq!(replay.methods()[2..], ["session/prompt", "session/prompt"]);
    assert_eq!(replay.take_end().result, Some(Ok(())));
    assert_eq!(replay.entries.last().map(|(turn, _)| *turn), Some(2));

    let lines = [opened(), vec![says("===REVIEW: "), says("PASS==="), done(3)]].concat();
    let replay = Replay::new(reviewer()).hear_all(&lines);
    assert!(replay.is_over() && replay.notices().is_empty(), "a verdict in pieces is one");
}

#[test]
fn a_cost_that_nobody_can_tell_is_not_made_up() {
    let load = greeting(&json!({ "loadSession": true }));
    let lines = [load, answer(2, &json!({})), costs(0.5), costs(0.75)];
    let replay = Replay::new(resumed()).hear_all(&lines);
    assert_eq!(replay.notices(), ["usage_unread"]);
    assert_eq!(replay.used()[0].cost_micro_usd, Some(250_000));
}

#[test]
fn what_is_not_understood_is_kept_raw() {
    let strange = update(&json!({ "sessionUpdate": "of_tomorrow", "x": 1 }));
    let notification = json!({ "jsonrpc": "2.0", "method": "_vendor/thing", "params": {} });
    let request = json!({ "jsonrpc": "2.0", "id": 9, "method": "_vendor/ask", "params": {} });
    let mut replay =
        Replay::new(brief()).hear_all(&[opened(), vec![strange, notification, request]].concat());
    replay.line("not json");
    assert_eq!(replay.of(EntryKind::Raw).len(), 4);
    assert_eq!(replay.methods().last().map(String::as_str), Some("error -32601"));
}

#[test]
fn opencode_is_told_to_ask() {
    let of =
        |program: &str| asking(&PathBuf::from(program)).iter().map(|(name, _)| *name).collect::<Vec<_>>();
    assert_eq!(of("/usr/bin/opencode"), ["OPENCODE_PERMISSION", "OPENCODE_CONFIG_CONTENT"]);
    assert!(of("/usr/bin/gemini").is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Lines that were recorded, damaged and mixed.
    #[test]
    fn damaged_lines_never_panic(
        picks in prop::collection::vec((0..400_usize, 0..4_u8, any::<u16>()), 1..40),
        garbage in prop::collection::vec(any::<u8>(), 0..64),
    ) {
        let lines: Vec<&str> = ALL.iter().flat_map(|it| it.lines()).collect();
        let mut bytes = TOUR.lines().take(2).collect::<Vec<_>>().join("\n").into_bytes();
        bytes.push(b'\n');
        for (pick, how, at) in picks {
            let mut line = lines[pick % lines.len()].as_bytes().to_vec();
            damage(&mut line, how, at, &garbage);
            bytes.extend(line);
            bytes.push(b'\n');
        }
        fuzz_lines(&bytes);
        fuzz_lines(&garbage);
    }
}
