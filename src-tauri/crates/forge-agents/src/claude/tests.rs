//! What the program was seen to print, read again: `recorded/` holds sessions of 2.1.330 with a scripted model, in
//! which `{{0}}`, `{{1}}` stand for the messages that were sent to it.

mod arguments;
mod recordings;

use std::path::PathBuf;

use forge_model::{
    agent::PermissionMode,
    approval::ApprovalKind,
    execution::ExecutionRole,
    log::{EntryKind, EntryStatus},
};
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::{AgentError, RunEvent, replay::damage};

use super::{
    dialogue::{Brief, ClaudeDialogue},
    fuzz_lines,
    outcome::Given,
};

const NOW: i64 = 1_800_000_000_000;

type Replay = crate::replay::Replay<ClaudeDialogue>;

fn brief() -> Brief {
    Brief {
        run: "a run".to_owned(),
        prompt: "Do the work.".to_owned(),
        role: ExecutionRole::Coder,
        permissions: PermissionMode::Edit,
        worktree: PathBuf::from("/w"),
        limits: Given { turns: Some(7), cost: None },
        goes_on: false,
        carry: None,
    }
}

/// The messages that were sent, as the program names them.
fn messages(sent: &[Value]) -> Vec<String> {
    let messages = sent.iter().filter(|line| line["type"] == "user");
    messages.filter_map(|line| Some(line["uuid"].as_str()?.to_owned())).collect()
}

impl Replay {
    fn new(brief: Brief) -> Self {
        Self::begin(ClaudeDialogue::new(brief).at(|| NOW)).with_stand_ins(messages)
    }

    fn messages(&self) -> Vec<String> {
        messages(&self.sent)
    }

    fn heard(&self) -> Vec<&str> {
        let mut heard = Vec::new();
        for event in &self.told {
            if let RunEvent::Heard { id } = event {
                heard.push(id.as_str());
            }
        }
        heard
    }

    fn replies(&self) -> Vec<&Value> {
        let replies = self.sent.iter().filter(|line| line["type"] == "control_response");
        replies.map(|line| &line["response"]["response"]).collect()
    }
}

fn replayed(lines: &str, brief: Brief) -> Replay {
    Replay::new(brief).replay(lines, |ask| panic!("asked {ask:?}"))
}

#[test]
fn a_whole_run_becomes_entries() {
    let mut replay = replayed(recordings::TOUR, brief());
    assert!(replay.is_over());
    insta::assert_json_snapshot!(replay.shown());
    let said = replay.take_end();
    assert_eq!(said.result, Some(Ok(())));
    assert_eq!(said.summary.as_deref(), Some("It is done."));
    assert_eq!(said.session_id.as_deref(), Some("11111111-1111-4111-8111-111111111111"));
    assert_eq!(replay.sent.len(), 2, "a greeting and the prompt");
    assert_eq!(replay.sent[1]["message"]["content"][0]["text"], "Do the work.");
}

#[test]
fn a_sub_agents_work_belongs_to_its_call() {
    let replay = replayed(recordings::SUBAGENT, brief());
    let call = replay.of(EntryKind::ToolCall).first().map(|entry| entry.id.clone());
    let changes = replay.of(EntryKind::FileChange);
    assert!(call.is_some() && !changes.is_empty());
    for change in changes {
        assert_eq!(change.parent_id, call, "{change:?}");
    }
    let spoken = replay.of(EntryKind::AssistantText);
    assert_eq!(
        spoken.last().and_then(|entry| entry.parent_id.as_ref()),
        None,
        "the agent itself speaks last"
    );
}

#[test]
fn a_person_is_asked_and_the_answer_passed_on() {
    let asks = std::cell::RefCell::new(Vec::new());
    let mut replay = Replay::new(Brief { permissions: PermissionMode::Ask, ..brief() });
    replay.lines(recordings::ASKED, |ask| {
        asks.borrow_mut().push(json!({
            "kind": ask.kind, "title": ask.title, "detail": ask.detail, "options": ask.options,
        }));
        if ask.kind == ApprovalKind::FileChange && ask.title == "README.md" { "allow" } else { "refuse" }
    });
    insta::assert_json_snapshot!(json!({ "asks": asks.into_inner(), "replies": replay.replies() }));
    let settled: Vec<_> = replay.of(EntryKind::ApprovalResolved).iter().map(|entry| entry.status).collect();
    let (yes, no) = (Some(EntryStatus::Completed), Some(EntryStatus::Declined));
    assert!(settled.contains(&yes) && settled.contains(&no), "{settled:?}");
    let declined: Vec<_> = replay
        .of(EntryKind::FileChange)
        .into_iter()
        .filter(|it| it.status == no)
        .map(|it| &it.body)
        .collect();
    assert_eq!(declined.len(), 1, "the second file: {declined:?}");
    assert_eq!(declined[0]["reason"], "The user refused this. Continue without it.");
}

#[test]
fn always_holds_for_the_session_and_never_lifts_the_guards() {
    let mut replay = Replay::new(Brief { permissions: PermissionMode::Ask, ..brief() });
    let request = json!({ "type": "control_request", "request_id": "r", "request": {
        "subtype": "can_use_tool", "tool_name": "Bash", "input": { "command": "make\n  all" }, "tool_use_id": "t",
        "permission_suggestions": [
            { "type": "addRules", "rules": [{ "toolName": "Bash", "ruleContent": "make *" }],
              "behavior": "allow", "destination": "localSettings" },
            { "type": "setMode", "mode": "bypassPermissions", "destination": "session" },
        ],
    } });
    replay.lines(&request.to_string(), |ask| {
        assert_eq!(ask.title, "make all");
        assert_eq!(ask.options[1].label, "Allow in this session: Bash(make *)");
        "always"
    });
    assert_eq!(
        replay.replies()[0]["updatedPermissions"],
        json!([{ "type": "addRules", "rules": [{ "toolName": "Bash", "ruleContent": "make *" }],
                 "behavior": "allow", "destination": "session" }])
    );
}

#[test]
fn a_question_is_short_enough_to_be_stored() {
    let request = json!({ "type": "control_request", "request_id": "r", "request": {
        "subtype": "can_use_tool", "tool_name": "Write", "tool_use_id": "t",
        "input": { "file_path": "/w/big", "content": "\u{e9}".repeat(100_000) },
    } });
    let mut replay = Replay::new(brief());
    replay.lines(&request.to_string(), |ask| {
        let diff = ask.detail["diff"].as_str().unwrap_or_default();
        assert!((60_000..=65_536).contains(&diff.len()) && diff.ends_with('\u{2026}'), "{}", diff.len());
        "allow"
    });
    let content = replay.replies()[0]["updatedInput"]["content"].as_str().map(str::len);
    assert_eq!(content, Some(200_000), "what is written stays whole");
}

#[test]
fn a_question_of_the_model_is_answered() {
    let mut replay = Replay::new(brief());
    replay.lines(recordings::QUESTION, |ask| {
        assert_eq!((ask.kind, ask.title.as_str()), (ApprovalKind::Question, "Which color?"));
        "1"
    });
    assert_eq!(replay.replies()[0]["updatedInput"]["answers"], json!({ "Which color?": "Blue" }));
}

#[test]
fn several_questions_are_asked_one_by_one() {
    let question = |text: &str| json!({ "question": text, "options": [{ "label": "A" }, { "label": "B" }] });
    let request = json!({ "type": "control_request", "request_id": "r", "request": {
        "subtype": "can_use_tool", "tool_name": "AskUserQuestion", "tool_use_id": "t",
        "input": { "questions": [question("One?"), question("Two?")] },
    } });
    let mut replay = Replay::new(brief());
    let asked = |events: Vec<RunEvent>| {
        let ask = |event| if let RunEvent::Asked(ask) = event { Some(ask.id) } else { None };
        events.into_iter().filter_map(ask).collect::<Vec<_>>()
    };
    assert_eq!(asked(replay.line(&request.to_string())), ["r"]);
    replay.answer("r", "no such option", None);
    assert!(
        replay.replies().is_empty() && replay.of(EntryKind::ApprovalRequest).len() == 1,
        "it still waits"
    );
    replay.answer("r", "0", Some("but only once"));
    assert_eq!(replay.of(EntryKind::ApprovalRequest).len(), 2);
    replay.answer("r:1", "other", Some("neither"));
    let expected = json!({ "One?": "A (but only once)", "Two?": "neither" });
    assert_eq!(replay.replies()[0]["updatedInput"]["answers"], expected);
    let waits = replay.of(EntryKind::ApprovalRequest).len() - replay.of(EntryKind::ApprovalResolved).len();
    assert_eq!(waits, 0);
}

#[test]
fn who_must_not_be_waited_for_is_refused_at_once() {
    for (permissions, what) in
        [(PermissionMode::ReadOnly, "read-only"), (PermissionMode::Unattended, "No user")]
    {
        let replay = replayed(recordings::ASKED, Brief { permissions, ..brief() });
        assert!(!replay.replies().is_empty());
        for reply in replay.replies() {
            assert_eq!(reply["behavior"], "deny");
            assert!(reply["message"].as_str().is_some_and(|it| it.contains(what)), "{reply}");
        }
    }
    let replay = replayed(recordings::QUESTION, Brief { permissions: PermissionMode::Unattended, ..brief() });
    assert!(replay.replies()[0]["message"].as_str().is_some_and(|it| it.contains("Decide yourself")));
}

#[test]
fn failures_are_typed() {
    for (lines, code) in recordings::FAILURES {
        let mut replay = replayed(lines, brief());
        assert!(replay.is_over());
        assert!(replay.of(EntryKind::AssistantText).iter().all(|it| it.body["text"] != Value::Null));
        assert_eq!(replay.error().map(|error| error.code()), Some(*code), "{lines}");
        let ended = replay.of(EntryKind::TurnEnded);
        assert_eq!(ended[0].status, Some(EntryStatus::Failed));
    }
    let mut limited = replayed(recordings::RATE_LIMITED, brief());
    let Some(AgentError::RateLimited { until_ms }) = limited.error() else { panic!("no limit") };
    let waits = until_ms - NOW;
    assert!((7_000..9_000).contains(&waits), "it was told to wait 7 s: {waits}");
    assert!(limited.of(EntryKind::Notice).iter().any(|it| it.body["code"] == "api_retry"));
}

#[test]
fn an_interrupted_command_is_cancelled() {
    let mut replay = Replay::new(brief());
    for line in recordings::INTERRUPTED.lines() {
        if line.contains("still_queued") {
            replay.interrupt();
            assert!(!replay.is_over(), "its end is waited for");
            assert_eq!(replay.sent.last().map(|it| &it["request"]["subtype"]), Some(&json!("interrupt")));
        }
        replay.line(line);
    }
    assert!(replay.is_over());
    assert_eq!(replay.error(), Some(AgentError::Cancelled));
    let commands = replay.of(EntryKind::Command);
    assert_eq!(commands.last().and_then(|it| it.status), Some(EntryStatus::Cancelled));
    let used: Vec<_> =
        replay.of(EntryKind::Usage).iter().map(|it| it.body["cost_micro_usd"].clone()).collect();
    assert_eq!(used, [json!(2440)], "the call before it was stopped is counted");
}

#[test]
fn a_run_that_has_not_begun_stops_at_once() {
    let mut replay = Replay::new(brief());
    replay.say("early", "And this.");
    replay.interrupt();
    assert!(replay.is_over() && replay.messages().is_empty());
}

#[test]
fn words_go_into_the_running_turn() {
    let mut replay = Replay::new(brief());
    for line in recordings::STEERED.lines() {
        if line.contains("{{1}}") && replay.messages().len() == 1 {
            replay.say("s1", "Also this.");
            assert!(replay.heard().is_empty());
        }
        replay.line(line);
    }
    assert_eq!(replay.heard(), ["s1"]);
    assert!(replay.is_over());
    assert_eq!(replay.of(EntryKind::UserMessage)[0].body["text"], "Also this.");
}

#[test]
fn words_that_came_too_late_get_a_turn_of_their_own() {
    let mut replay = Replay::new(brief());
    replay.say("early", "Also this.");
    let mut results = 0;
    for line in recordings::QUEUED.lines() {
        if replay.messages().len() == 2 {
            replay.say("late", "And this.");
        }
        let was_over = replay.is_over();
        replay.line(line);
        if line.contains(r#""type":"result""#) {
            results += 1;
            assert_eq!(replay.is_over(), results == 2 || was_over);
        }
    }
    assert_eq!((results, replay.heard()), (2, vec!["early", "late"]));
    let turns: Vec<_> =
        replay.entries.iter().filter(|it| it.1.kind == EntryKind::AssistantText).map(|it| it.0).collect();
    assert_eq!(turns, [1, 2]);
    assert_eq!(replay.of(EntryKind::Usage).len(), 2);
}

#[test]
fn a_reviewer_is_asked_for_its_verdict_once() {
    let message = |text: &str| {
        let content = json!([{ "type": "text", "text": text }]);
        json!({ "type": "assistant", "message": { "id": text, "content": content } }).to_string()
    };
    let result = json!({ "type": "result", "is_error": false, "result": "x", "terminal_reason": "completed",
                         "model_usage_since_last_result": {} })
    .to_string();
    let greeted = json!({ "type": "control_response", "response": { "request_id": "forge-1" } }).to_string();
    let mut replay = Replay::new(Brief { role: ExecutionRole::Reviewer, ..brief() });
    for line in [&greeted, &message("All is well."), &result] {
        replay.line(line);
    }
    assert!(!replay.is_over() && replay.messages().len() == 2);
    for line in [&message("I have said what I think."), &result] {
        replay.line(line);
    }
    assert!(replay.is_over() && replay.messages().len() == 2, "nobody is asked for ever");

    let mut replay = Replay::new(Brief { role: ExecutionRole::Reviewer, ..brief() });
    for line in [&greeted, &message("Fine.\n\n===REVIEW: PASS==="), &result] {
        replay.line(line);
    }
    assert!(replay.is_over() && replay.messages().len() == 1);
}

#[test]
fn a_session_that_is_gone_is_noticed() {
    let line = json!({ "type": "result", "subtype": "error_during_execution", "is_error": true, "num_turns": 0,
                       "modelUsage": {}, "errors": ["No conversation found with session ID: x"] });
    for goes_on in [true, false] {
        let mut replay = replayed(&line.to_string(), Brief { goes_on, ..brief() });
        assert_eq!(replay.dialogue.is_lost(), goes_on);
        assert_eq!(replay.error().map(|error| error.code()), Some("protocol"));
    }
}

#[test]
fn what_nobody_knows_is_kept_as_it_is() {
    let mut replay = Replay::new(brief());
    for line in
        [r#"{"type":"brand_new","x":1}"#, r#"{"type":"system","subtype":"brand_new"}"#, "no json", "[1]"]
    {
        replay.line(line);
    }
    let raw: Vec<_> = replay.of(EntryKind::Raw).iter().map(|it| it.body.clone()).collect();
    assert_eq!(raw.len(), 4);
    assert_eq!((&raw[0]["x"], &raw[2]["text"]), (&json!(1), &json!("no json")));
    replay.line(r#"{"type":"control_request","request_id":"h","request":{"subtype":"hook_callback"}}"#);
    assert_eq!(replay.sent.last().map(|it| &it["response"]["subtype"]), Some(&json!("error")));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// Whatever is cut, lost, doubled, mixed or not from the program at all: no panic.
    #[test]
    fn nothing_that_is_printed_breaks_it(
        picks in prop::collection::vec((0..recordings::ALL.len(), 0..64_usize, 0..4_u8, any::<u16>()), 0..40),
        garbage in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        let mut bytes = Vec::new();
        for (recording, line, how, at) in picks {
            let lines: Vec<&str> = recordings::ALL[recording].lines().collect();
            let mut line = lines[line % lines.len()].as_bytes().to_vec();
            damage(&mut line, how, at, &garbage);
            bytes.extend(line);
            bytes.push(b'\n');
        }
        fuzz_lines(&bytes);
        fuzz_lines(&garbage);
    }

    /// Fields of any type are as if they were not there.
    #[test]
    fn types_may_change(line in 0..400_usize, field in 0..40_usize, with in 0..5_usize) {
        let lines: Vec<&str> = recordings::ALL.iter().flat_map(|it| it.lines()).collect();
        let mut event: Value = serde_json::from_str(lines[line % lines.len()]).unwrap_or_default();
        let other = [json!(null), json!(-1.5e300), json!("text"), json!([[1]]), json!({ "type": 3 })];
        let mut pointers = Vec::new();
        pointers_of(&event, String::new(), &mut pointers);
        let pointer = &pointers[field % pointers.len()];
        if let Some(place) = event.pointer_mut(pointer) {
            *place = other[with].clone();
        }
        fuzz_lines(event.to_string().as_bytes());
    }
}

fn pointers_of(value: &Value, at: String, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                pointers_of(field, format!("{at}/{}", name.replace('~', "~0").replace('/', "~1")), found);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                pointers_of(item, format!("{at}/{index}"), found);
            }
        }
        _ => {}
    }
    found.push(at);
}
