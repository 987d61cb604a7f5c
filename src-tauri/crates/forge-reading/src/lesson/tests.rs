use forge_model::lesson::SHOWN_CHARS;
use forge_model::log::{EntryKind, LogEntry};
use proptest::prelude::*;
use serde_json::json;

use super::*;

const GOOD: &str =
    "```forge-lesson\ntitle: Dates are UTC\npaths: src/time.rs, docs/\n\nStore them as UTC.\n```\n";

fn titles(text: &str) -> Vec<String> {
    proposals(text).lessons.into_iter().map(|lesson| lesson.title).collect()
}

fn refusals(text: &str) -> Vec<String> {
    proposals(text).refused.into_iter().map(|refusal| format!("{}: {}", refusal.name, refusal.why)).collect()
}

#[test]
fn a_lesson_has_a_header_and_a_body() {
    let wanted = LessonDraft {
        title: "Dates are UTC".into(),
        body: "Store them as UTC.".into(),
        paths: vec!["src/time.rs".into(), "docs".into()],
    };
    for text in [
        GOOD.to_owned(),
        format!("I am done.\n{GOOD}Bye"),
        GOOD.replace('\n', "\r\n"),
        GOOD.trim_end().to_owned(),
        GOOD.replacen("title", "---\ntitle", 1).replacen("\n\n", "\n---\n", 1),
        GOOD.repeat(4),
    ] {
        let found = proposals(&text);
        assert_eq!(found, Proposals { lessons: vec![wanted.clone()], refused: vec![] }, "{text}");
    }
}

#[test]
fn code_in_a_lesson_belongs_to_it() {
    let body = |text: &str| proposals(text).lessons.pop().map(|lesson| lesson.body);
    let with_language = "```forge-lesson\ntitle: A\n\nRun:\n```sh\nmake\n```\nThen rest.\n```\n";
    assert_eq!(body(with_language).as_deref(), Some("Run:\n```sh\nmake\n```\nThen rest."));
    let longer = "````forge-lesson\ntitle: A\n\n```\nmake\n```\n````\n";
    assert_eq!(body(longer).as_deref(), Some("```\nmake\n```"));
    let inner_left_open = "````forge-lesson\ntitle: A\n\n```sh\nmake\n````\n";
    assert_eq!(body(inner_left_open).as_deref(), Some("```sh\nmake"));
    assert_eq!(titles(&format!("{longer}{GOOD}")), ["A", "Dates are UTC"]);
}

#[test]
fn what_is_only_talked_about_proposes_nothing() {
    for text in [
        "no lesson".to_owned(),
        GOOD.lines().map(|line| format!("> {line}\n")).collect(),
        format!("~~~~\n{GOOD}~~~~\n"),
        format!("````\n{GOOD}````\n"),
        GOOD.replace("forge-lesson", "forge-lesson x"),
        GOOD.replace("```", "~~~"),
        GOOD.lines().map(|line| format!("    {line}\n")).collect(),
    ] {
        assert_eq!(proposals(&text), Proposals::default(), "{text}");
    }
}

#[test]
fn lesson_in_another_form_is_refused_with_a_reason() {
    let block = |inner: &str| format!("```forge-lesson\n{inner}\n```\n");
    for (text, wanted) in [
        (block("title:\n\nx"), "lesson 1: title is missing"),
        (block("title: A"), "\"A\": body is missing"),
        (block("Just text."), "lesson 1: an empty line must follow its header"),
        (block("title: A\ncolour: red\n\nx"), "\"A\": its header allows `title` and `paths`, not `colour`"),
        (block("title: A\npaths: ../x\n\nx"), "\"A\": paths[0] `../x` leads out of the repository"),
        (
            block("title: A\npaths: a, /etc\n\nx"),
            "\"A\": paths[1] `/etc` must be relative to the root of the repository, with `/`",
        ),
        (
            block("title: A\npaths: a/.GIT/config\n\nx"),
            "\"A\": paths[0] `a/.GIT/config` leads into git's folder",
        ),
        (block("title: A\npaths: a//b\n\nx"), "\"A\": paths[0] `a//b` has an empty part"),
        (block("title: A\n\n\u{1b}[1mx"), "\"A\": body contains control characters"),
        ("```forge-lesson\ntitle: A\n\nx".to_owned(), "\"A\": its fence is not closed"),
        (format!("{}```forge-lesson\n", block("")), "lesson 1: title is missing, body is missing"),
    ] {
        assert_eq!(refusals(&text).first().map(String::as_str), Some(wanted), "{text}");
    }
}

#[test]
fn limits_hold_to_the_last_character() {
    let block = |title: &str, body: &str| format!("```forge-lesson\ntitle: {title}\n\n{body}\n```\n");
    let (title, body) = ("ü".repeat(MAX_TITLE), "x".repeat(MAX_BODY));
    assert_eq!(titles(&block(&title, &body)), std::slice::from_ref(&title));
    let long = format!("\"{}…\": title has 121 characters; at most 120 are allowed", "ü".repeat(SHOWN_CHARS));
    assert_eq!(refusals(&block(&format!("{title}ü"), "x")), [long]);
    assert_eq!(
        refusals(&block("A", &format!("{body}x"))),
        ["\"A\": body has 8193 bytes; at most 8192 are allowed"]
    );
    for huge in ["x".repeat(20 << 20), "line\n".repeat(1 << 20)] {
        assert_eq!(refusals(&block("A", &huge)), ["\"A\": it is longer than 8192 bytes"]);
        assert_eq!(titles(&format!("{}{GOOD}", block("A", &huge))), ["Dates are UTC"], "what follows counts");
    }
}

#[test]
fn a_run_proposes_a_few() {
    let text: String = (1..=5).map(|n| format!("```forge-lesson\ntitle: L{n}\n\nx\n```\n")).collect();
    assert_eq!(titles(&text), ["L1", "L2", "L3"]);
    let why = "a run can propose at most 3 lessons";
    assert_eq!(refusals(&text), [format!("\"L4\": {why}"), format!("\"L5\": {why}")]);
    // One that is left open does not swallow the next.
    let open = format!("```forge-lesson\ntitle: A\n\nx\n{GOOD}");
    assert_eq!(
        (titles(&open), refusals(&open)),
        (vec!["Dates are UTC".to_owned()], vec!["\"A\": its fence is not closed".to_owned()])
    );
}

#[test]
fn refusals_are_told_in_a_sentence() {
    let refusal = |name: usize| Refusal { name: format!("lesson {name}"), why: "no".into() };
    assert_eq!(told(&[]), None);
    assert_eq!(told(&[refusal(1), refusal(2)]).unwrap(), "refused: lesson 1: no; lesson 2: no");
    let many: Vec<Refusal> = (1..=7).map(refusal).collect();
    assert!(told(&many).unwrap().ends_with("lesson 5: no; and 2 more"));
}

fn entry(text: &str) -> LogEntry {
    serde_json::from_value(json!({
        "seq": 1, "at": 0, "execution_id": "e", "turn": 1, "id": "m", "parent_id": null,
        "kind": EntryKind::AssistantText, "status": null, "body": { "text": text }, "raw_offset": 0,
    }))
    .unwrap()
}

proptest! {
    #[test]
    fn what_is_written_in_the_form_is_read_back_however_it_is_cut(
        title in "[^\\p{C}\\s][^\\p{C}]{0,80}",
        body in "[a-zA-Z.# üñ🦀\\n-]{1,300}",
        paths in prop::collection::vec("[a-z][a-z/]{0,8}[a-z]", 0..4),
        before in "[^`~]{0,40}",
        cuts in prop::collection::vec(0usize..600, 0..12),
    ) {
        prop_assume!(!title.trim().is_empty() && !body.trim().is_empty());
        let text = format!("{before}\n````forge-lesson\ntitle: {title}\npaths: {}\n\n{body}\n````\n", paths.join(", "));
        let wanted = LessonDraft { title, body, paths }.tidied();
        prop_assume!(wanted.findings().is_empty());
        let mut cuts: Vec<usize> = cuts.into_iter().filter(|cut| *cut < text.len() && text.is_char_boundary(*cut)).collect();
        cuts.push(text.len());
        cuts.sort_unstable();
        let (mut reader, mut from) = (LessonReader::default(), 0);
        for cut in cuts {
            reader.hear(&entry(&text[from..cut]));
            from = cut;
        }
        let found = reader.finish();
        prop_assert_eq!(&found, &proposals(&text));
        prop_assert_eq!(found, Proposals { lessons: vec![wanted], refused: vec![] });
    }

    #[test]
    fn any_text_is_read_and_only_what_is_in_the_form_is_taken(
        parts in prop::collection::vec(prop_oneof![
            Just("```forge-lesson\n".to_owned()), Just("````forge-lesson\n".to_owned()), Just("```\n".to_owned()),
            Just("````\n".to_owned()), Just("~~~\n".to_owned()), Just("```sh\n".to_owned()),
            Just("title: T\n".to_owned()), Just("paths: ../x\n".to_owned()), Just("\n".to_owned()),
            Just("---\n".to_owned()), "[^`]{0,20}",
        ], 0..40),
    ) {
        let found = proposals(&parts.concat());
        prop_assert!(found.lessons.len() <= MAX_LESSONS);
        for lesson in found.lessons {
            prop_assert_eq!(lesson.findings(), vec![]);
            prop_assert_eq!(lesson.clone().tidied(), lesson);
        }
    }
}
