use serde_json::json;

use super::*;
use crate::settings::ProjectSettings;
use crate::workflow::{default_workflow_json, presets};

fn default_value() -> Value {
    serde_json::from_str(default_workflow_json()).unwrap()
}

fn findings(edit: impl FnOnce(&mut Value)) -> Vec<Finding> {
    let mut value = default_value();
    edit(&mut value);
    parse_value(value).map(|_| Vec::new()).unwrap_or_else(|found| found)
}

fn paths(edit: impl FnOnce(&mut Value)) -> Vec<String> {
    findings(edit).into_iter().map(|finding| finding.path).collect()
}

/// Puts `value` at a JSON pointer of the default definition; the last part may be new.
type Edit = (&'static str, Value);

/// What is said about one edit: the path, and words of the message.
fn check(edit: &Edit, path: &str, words: &str) {
    let found = findings(|value| put(value, edit));
    let hit = found.iter().any(|finding| finding.path == path && finding.message.contains(words));
    assert!(hit, "{edit:?}: wanted {path:?} with {words:?}, found {found:#?}");
}

fn put(value: &mut Value, (pointer, new): &Edit) {
    let (parent, last) = pointer.rsplit_once('/').unwrap();
    match value.pointer_mut(parent).unwrap() {
        Value::Object(map) => drop(map.insert(last.to_owned(), new.clone())),
        Value::Array(list) => list[last.parse::<usize>().unwrap()] = new.clone(),
        other => panic!("{pointer} is below {other}"),
    }
}

#[test]
fn the_shipped_ones_are_valid() {
    for preset in presets() {
        assert_eq!(parse(preset.json).unwrap().notes, Vec::<String>::new(), "{}", preset.name);
    }
}

/// Unknown keys and names, wrong types, missing fields; the nearest name is proposed.
#[test]
fn every_rule_of_shape() {
    for (edit, path, words) in [
        (("/colour", json!(1)), "colour", "unknown key"),
        (("/states/0/colum", json!("x")), "states[0].colum", "did you mean `column`?"),
        (("/states/0/clean_up", json!("keep")), "states[0].clean_up", "did you mean `cleanup`?"),
        (("/states/2/hooks/on_entry", json!([])), "states[2].hooks.on_entry", "did you mean `on_enter`?"),
        (
            ("/states/2/config/retry_budgets/exec", json!(1)),
            "states[2].config.retry_budgets.exec",
            "unknown key",
        ),
        (("/states/2/kind", json!("activ")), "states[2].kind", "not a known `kind`; did you mean `active`?"),
        (("/states/2/kind", json!(7)), "states[2].kind", "must be \"backlog\" or \"initial\""),
        (
            ("/states/4/hooks/on_enter/0/action", json!("run_merg")),
            "states[4].hooks.on_enter[0].action",
            "not a known `action`; did you mean `run_merge`?",
        ),
        (
            ("/states/4/hooks/on_enter/0/applies_to", json!("humans")),
            "states[4].hooks.on_enter[0].applies_to",
            "not a known `applies_to`; allowed values: all, agent_only, user_only",
        ),
        (
            ("/states/3/hooks/before_enter/0/on_failure", json!("blok")),
            "states[3].hooks.before_enter[0].on_failure",
            "not a known `on_failure`; did you mean `block`?",
        ),
        (
            ("/states/3/hooks/before_enter/0/on_failure", json!({ "cascad": "todo" })),
            "states[3].hooks.before_enter[0].on_failure.cascad",
            "did you mean `cascade`?",
        ),
        (
            ("/states/3/hooks/before_enter/0/on_failure", json!(true)),
            "states[3].hooks.before_enter[0].on_failure",
            "must be \"block\" or \"log\" or {\"cascade\": …}, not true or false",
        ),
        (
            ("/states/3/triggers/reject/session", json!("fresh")),
            "states[3].triggers.reject.session",
            "not a known `session`; allowed values: new, resume, fork",
        ),
        (("/states/3/triggers/a b", json!({})), "states[3].triggers[\"a b\"].to", "is missing"),
        (
            ("/states/3/gate_config/requires_user_approval", json!("allways")),
            "states[3].gate_config.requires_user_approval",
            "did you mean `always`?",
        ),
        (
            ("/states/3/gate_config/requires_user_approval", json!(1)),
            "states[3].gate_config.requires_user_approval",
            "must be true or false or \"always\", not a number",
        ),
        (
            ("/states/3/gate_config/max_rejections", json!(-1)),
            "states[3].gate_config.max_rejections",
            "from 0",
        ),
        (
            ("/states/3/gate_config/max_rejections", json!(1.5)),
            "states[3].gate_config.max_rejections",
            "whole",
        ),
        (
            ("/states/3/gate_config/max_rejections", json!(4_294_967_296_u64)),
            "states[3].gate_config.max_rejections",
            "from 0 to 4294967295",
        ),
        (("/states/7/cleanup", json!({ "delayed": {} })), "states[7].cleanup.delayed.seconds", "is missing"),
        (("/states/7/cleanup", json!("sometime")), "states[7].cleanup", "not a known `cleanup`"),
        (("/states/7", json!({})), "states[7].kind", "is missing"),
        (("/states/7", json!("done")), "states[7]", "must be an object, not text"),
        (("/states", json!({})), "states", "must be a list, not an object"),
        (("/roles/0", json!({ "name": "coder" })), "roles[0].display_name", "is missing"),
        (("/states/0/hooks", json!(null)), "states[0].hooks", "must be an object, not null"),
        (("/name", json!(null)), "name", "must be text, not null"),
    ] {
        check(&edit, path, words);
    }
    for value in [json!([]), json!(null), json!("x"), json!(3)] {
        let found = parse_value(value).unwrap_err();
        assert_eq!((found.len(), found[0].path.as_str()), (1, ""), "{found:?}");
    }
}

#[test]
fn every_rule_of_meaning() {
    let long = "x".repeat(65);
    for (edit, path, words) in [
        (
            ("/states/0/kind", json!("initial")),
            "states",
            "exactly one state of kind `initial` is required, found 2",
        ),
        (
            ("/states/1/kind", json!("custom")),
            "states",
            "exactly one state of kind `initial` is required, found 0",
        ),
        (
            ("/states/0/kind", json!("blocked")),
            "states",
            "exactly one state of kind `blocked` is required, found 2",
        ),
        (("/states/2/kind", json!("custom")), "states", "at least one state of kind `active`"),
        (("/states/1/name", json!("backlog")), "states[1].name", "used twice; states[0].name is the first"),
        (("/roles/1/name", json!("coder")), "roles[1].name", "used twice"),
        (("/roles/1/name", json!(" ")), "roles[1].name", "must not be empty"),
        (("/roles/1/name", json!(long)), "roles[1].name", "at most 64"),
        (("/cancellation_state", json!("canceled")), "cancellation_state", "did you mean `cancelled`?"),
        (
            ("/cancellation_state", json!("todo")),
            "cancellation_state",
            "must be of kind `terminal`, not `initial`",
        ),
        (("/states/2/name", json!("in progress")), "states[2].name", "letters, digits, `_` and `-`"),
        (("/states/2/name", json!("")), "states[2].name", "must not be empty"),
        (("/states/2/name", json!(long)), "states[2].name", "at most 64"),
        (("/states/2/column", json!("  ")), "states[2].column", "must not be empty"),
        (("/states/2/column", json!(long)), "states[2].column", "at most 64"),
        (
            ("/states/2/role", json!("codr")),
            "states[2].role",
            "not declared under `roles`; did you mean `coder`?",
        ),
        (
            ("/states/3/gate_config/reject_target", json!("progress")),
            "states[3].gate_config.reject_target",
            "no state `progress`; did you mean `in_progress`?",
        ),
        (("/states/0/triggers/accept/to", json!("x")), "states[0].triggers.accept.to", "no state `x`"),
        (("/states/0/triggers/", json!({ "to": "todo" })), "states[0].triggers[\"\"]", "needs a name"),
        (
            ("/states/8/triggers", json!({ "again": { "to": "todo" } })),
            "states[8].triggers",
            "no automatic triggers",
        ),
        (
            ("/states/8/gate_config", json!({ "reject_target": "todo" })),
            "states[8].gate_config.reject_target",
            "terminal",
        ),
        (
            ("/states/2/gate_config", json!({ "requires_user_approval": true })),
            "states[2].gate_config",
            "of kind `active`: remove it, or change the kind",
        ),
        (("/states/5/gate_config", json!({})), "states[5].gate_config", "of kind `custom`"),
        (
            ("/states/8/hooks/on_enter/0/on_failure", json!({ "cascade": "todo" })),
            "states[8].hooks.on_enter[0].on_failure",
            "terminal",
        ),
        (("/states/2/cleanup", json!("immediate")), "states[2].cleanup", "keeps its worktree"),
        (
            ("/states/2/cleanup", json!({ "delayed": { "seconds": 1 } })),
            "states[2].cleanup",
            "keeps its worktree",
        ),
        (
            ("/states/3/hooks/before_enter/0/on_failure", json!({ "cascade": "nowhere" })),
            "states[3].hooks.before_enter[0].on_failure.cascade",
            "no state",
        ),
        (
            ("/states/3/hooks/before_enter/0/on_failure", json!({ "cascade": "review" })),
            "states[3].hooks.before_enter[0].on_failure.cascade",
            "enter it in a loop",
        ),
        (
            ("/states/1/hooks/before_exit/0/on_failure", json!({ "cascade": "todo" })),
            "states[1].hooks.before_exit[0].on_failure.cascade",
            "enter it in a loop",
        ),
        (
            ("/states/4/hooks/on_enter/0/params", json!({ "fast": 1 })),
            "states[4].hooks.on_enter[0].params.fast",
            "takes no parameters",
        ),
        (
            ("/states/4/hooks/on_enter/0/params", json!([])),
            "states[4].hooks.on_enter[0].params",
            "must be an object",
        ),
        (
            ("/states/3/triggers/accept/to", json!("done")),
            "states[4]",
            "`merging` cannot be reached from `todo`",
        ),
    ] {
        check(&edit, path, words);
    }
    assert_eq!(paths(|w| put(w, &("/states/4/hooks/on_enter/0/params", json!({})))), Vec::<String>::new());
    assert_eq!(paths(|w| put(w, &("/states/4/hooks/on_enter/0/params", json!(null)))), Vec::<String>::new());
}

/// Hooks of every phase are checked: an action stands where the registry lets it, `block` where it can.
#[test]
fn every_phase_is_checked() {
    use crate::workflow::{Action, Phase};
    for phase in Phase::ALL {
        for action in Action::ALL {
            let found = paths(|w| {
                w["states"][5]["hooks"] = json!({ phase.as_str(): [{ "action": action.as_str() }] });
            });
            let wanted =
                (!action.phases().contains(phase)).then(|| format!("states[5].hooks.{phase}[0].action"));
            assert_eq!(found, wanted.into_iter().collect::<Vec<_>>(), "{action} in {phase}");
        }
        let action = Action::ALL.iter().find(|action| action.phases().contains(phase));
        let blocks = matches!(phase, Phase::BeforeExit | Phase::BeforeEnter);
        if let Some(action) = action {
            let found = paths(|w| {
                let hook = json!({ "action": action.as_str(), "on_failure": "block" });
                w["states"][5]["hooks"] = json!({ phase.as_str(): [hook] });
            });
            let wanted = (!blocks).then(|| format!("states[5].hooks.{phase}[0].on_failure"));
            assert_eq!(found, wanted.into_iter().collect::<Vec<_>>(), "block in {phase}");
        }
    }
}

/// Errors of all sorts, far apart and beside each other, in one answer.
#[test]
fn findings_come_all_at_once() {
    let edits: Vec<(Edit, &str)> = vec![
        (("/colour", json!(1)), "colour"),
        (("/shape", json!(1)), "shape"),
        (("/name", json!(null)), "name"),
        (("/roles/0/nme", json!(1)), "roles[0].nme"),
        (("/cancellation_state", json!("todo")), "cancellation_state"),
        (("/states/0/kind", json!("bakclog")), "states[0].kind"),
        (("/states/0/x", json!(1)), "states[0].x"),
        (("/states/0/y", json!(1)), "states[0].y"),
        (("/states/0/triggers/accept/to", json!("nowhere")), "states[0].triggers.accept.to"),
        (
            ("/states/1/hooks/before_exit/0/applies_to", json!("some")),
            "states[1].hooks.before_exit[0].applies_to",
        ),
        (
            ("/states/1/hooks/before_exit/0/on_failure", json!({ "cascade": "x" })),
            "states[1].hooks.before_exit[0].on_failure.cascade",
        ),
        (("/states/2/role", json!("nobody")), "states[2].role"),
        (("/states/2/hooks/on_enter/0/action", json!("dispatch")), "states[2].hooks.on_enter[0].action"),
        (
            ("/states/2/hooks/before_enter/0/action", json!("run_merge")),
            "states[2].hooks.before_enter[0].action",
        ),
        (("/states/3/column", json!("")), "states[3].column"),
        (("/states/3/gate_config/reject_target", json!("x")), "states[3].gate_config.reject_target"),
        (("/states/3/gate_config/max_rejections", json!("2")), "states[3].gate_config.max_rejections"),
        (("/states/4/hooks/on_enter/0/on_failure", json!("block")), "states[4].hooks.on_enter[0].on_failure"),
        (("/states/4/hooks/on_enter/0/params", json!({ "a": 1 })), "states[4].hooks.on_enter[0].params.a"),
        (("/states/5/cleanup", json!("now")), "states[5].cleanup"),
        (("/states/6/name", json!("todo")), "states[6].name"),
        (("/states/8/triggers", json!({ "accept": { "to": "todo" } })), "states[8].triggers"),
    ];
    let found = paths(|value| edits.iter().for_each(|(edit, _)| put(value, edit)));
    for (edit, path) in &edits {
        assert!(found.iter().any(|found| found == path), "{edit:?} is not found: {found:#?}");
    }
    let unique: std::collections::BTreeSet<&String> = found.iter().collect();
    assert_eq!(unique.len(), found.len(), "nothing is said twice: {found:#?}");
}

/// One unreadable field is one finding; what merely follows from it is not said.
#[test]
fn no_finding_follows_from_another() {
    for (pointer, new, path) in [
        ("/states/1/kind", json!("inital"), "states[1].kind"),
        ("/states/2/kind", json!(null), "states[2].kind"),
        ("/states/6/kind", json!("blockd"), "states[6].kind"),
        ("/states/4/name", json!(4), "states[4].name"),
        ("/roles/0/name", json!(4), "roles[0].name"),
        ("/roles", json!(null), "roles"),
        ("/states/3/hooks", json!([]), "states[3].hooks"),
        ("/states/3/triggers/accept/to", json!(4), "states[3].triggers.accept.to"),
        ("/states/3/triggers/accept/to", json!("mergin"), "states[3].triggers.accept.to"),
        ("/states/3/hooks/on_enter/0/action", json!("x"), "states[3].hooks.on_enter[0].action"),
    ] {
        assert_eq!(paths(|w| put(w, &(pointer, new.clone()))), [path], "{pointer}: {new}");
    }
    // A misspelt key is said once, not as an unknown and a missing one.
    assert_eq!(
        paths(|w| {
            let state = w["states"][2].as_object_mut().unwrap();
            let column = state.remove("column").unwrap();
            state.insert("colum".to_owned(), column);
        }),
        ["states[2].colum"]
    );
}

#[test]
fn unreachable_states_are_found() {
    assert_eq!(
        paths(|w| w["states"][3]["triggers"]["accept"]["to"] = json!("done")),
        ["states[4]", "states[5]"]
    );
    // The blocked state's own moves lead somewhere too.
    assert_eq!(
        paths(|w| {
            w["states"][3]["triggers"]["accept"]["to"] = json!("done");
            w["states"][6]["triggers"] = json!({ "accept": { "to": "merging" } });
        }),
        Vec::<String>::new()
    );
}

#[test]
fn the_number_of_states_is_limited() {
    let many = |count: usize| {
        parse_value(json!({
            "name": "many", "roles": [], "cancellation_state": "end",
            "states": (0..count).map(|i| json!({
                "name": match i { 0 => "start".to_owned(), 1 => "end".to_owned(), 2 => "stop".to_owned(), i => format!("s{i}") },
                "display_name": "", "column": "x",
                "kind": match i { 0 => "initial", 1 => "terminal", 2 => "blocked", _ => "custom" },
                "triggers": if i == 0 {
                    Value::Object((3..count).map(|to| (format!("t{to}"), json!({ "to": format!("s{to}") }))).collect())
                } else { json!({}) },
            })).collect::<Vec<_>>(),
        }))
    };
    assert_eq!(many(64).map(|parsed| parsed.workflow.states.len()), Ok(64));
    assert_eq!(many(65).unwrap_err()[0].path, "states");
}

#[test]
fn a_missing_blocked_state_is_added_and_said() {
    let mut value = default_value();
    value["states"].as_array_mut().unwrap().remove(6);
    let parsed = parse_value(value).unwrap();
    assert_eq!(parsed.notes, ["no state of kind `blocked`: added `blocked` in column Blocked"]);
    assert_eq!(parsed.workflow.blocked().unwrap().name, "blocked");
    // The name is taken by something else: nothing is added beside it.
    assert_eq!(paths(|w| w["states"][6]["kind"] = json!("custom"))[0], "states");
}

#[test]
fn broken_text_is_refused_with_its_place() {
    let findings = parse("{\n  \"name\": }").unwrap_err();
    assert!(findings[0].message.contains("line 2 column"), "{findings:?}");
    let twice =
        default_workflow_json().replacen("\"name\": \"todo\"", "\"name\": \"todo\", \"name\": \"x\"", 1);
    assert_eq!(parse(&twice).unwrap_err(), [Finding::new("states[1].name", "duplicate key `name`")]);
}

#[test]
fn a_stored_definition_with_a_gate_config_outside_of_gates_is_still_read() {
    let mut value: Value = serde_json::from_str(default_workflow_json()).unwrap();
    value["states"][2]["gate_config"] = json!({ "max_rejections": 3 });
    assert_eq!(parse(&value.to_string()).unwrap_err().len(), 1);
    assert!(parse_stored(&value.to_string()).is_ok());
    value["states"][2]["gate_config"] = Value::Null;
    assert!(parse(&value.to_string()).is_ok());
}

/// A list of kinds of object is explained by its tag.
#[test]
fn tagged_objects_are_explained() {
    let found = |hook: Value| {
        let value = json!({ "lifecycle_hooks": { "on_work_stop": [hook] } });
        shape_findings::<ProjectSettings>(&value, "settings")
            .into_iter()
            .map(|finding| format!("{}: {}", finding.path, finding.message))
            .collect::<Vec<_>>()
            .join("\n")
    };
    let at = "settings.lifecycle_hooks.on_work_stop[0]";
    assert_eq!(found(json!({})), format!("{at}.type: is missing: script or plugin"));
    assert_eq!(
        found(json!({ "type": "scrip" })),
        format!("{at}.type: `scrip` is not a known `type`; did you mean `script`?")
    );
    assert_eq!(found(json!({ "type": 1 })), format!("{at}.type: must be text, not a number"));
    assert_eq!(
        found(json!({ "type": "script", "comand": "x", "timeout_seconds": -1 })),
        format!(
            "{at}.comand: unknown key `comand`; did you mean `command`?\n\
             {at}.timeout_seconds: must be from 0 to 4294967295"
        )
    );
    assert_eq!(found(json!("x")), format!("{at}: must be an object, not text"));
}
