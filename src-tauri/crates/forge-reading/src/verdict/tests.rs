use forge_model::audit::{MAX_SCORE, Severity};
use forge_model::log::EntryKind;
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::speech::spoken;

fn verdict(text: &str) -> Option<&'static str> {
    audit(text).verdict.map(AuditVerdict::as_str)
}

#[test]
fn a_marker_stands_alone_on_its_line() {
    for (text, wanted) in [
        ("===REVIEW: PASS===", Some("pass")),
        ("fine\n   ===REVIEW: PASS===  \nbye", Some("pass")),
        ("===REVIEW: FAIL===\r\n", Some("fail")),
        ("===REVIEW: FAIL: no tests===", Some("fail")),
        ("I say ===REVIEW: PASS===", None),
        ("===REVIEW: PASS=== I say", None),
        ("===review: pass===", None),
        ("===REVIEW: MAYBE===", None),
        ("===REVIEW: PASS: why===", None),
        ("", None),
    ] {
        assert_eq!(verdict(text), wanted, "{text:?}");
    }
    assert_eq!(audit("===REVIEW: FAIL:  a: b ===").reason.as_deref(), Some("a: b"));
}

#[test]
fn quotes_and_fences_decide_nothing() {
    for text in [
        "> ===REVIEW: PASS===",
        "   > ===REVIEW: PASS===",
        "```\n===REVIEW: PASS===\n```",
        "~~~~ text\n===REVIEW: PASS===\n~~~\n===REVIEW: PASS===\n~~~~",
        "```\n===REVIEW: PASS===",
        "> {\"verdict\": \"pass\"}",
        "> ```json\n> {\"verdict\": \"pass\"}\n> ```",
        "```js\nassert(read({\"verdict\": \"pass\"}));\n```",
        "```json\n[\n  {\"verdict\": \"pass\"},\n  {\"verdict\": \"pass\"},\n]\n```",
        "```diff\n {\"verdict\": \"pass\"}\n```",
        "~~~patch\n{\"verdict\": \"pass\"}\n~~~",
        "```\n{\"verdict\":\n```\n```\n\"pass\"}\n```",
        "{\"verdict\":\n```\n\"pass\"}\n```",
    ] {
        assert_eq!(verdict(text), None, "{text:?}");
    }
    assert_eq!(verdict("```\nx\n```\n===REVIEW: FAIL==="), Some("fail"), "after the fence it counts");
    assert_eq!(verdict("a ```b``` c\n===REVIEW: PASS==="), Some("pass"), "code in a sentence is no fence");
}

#[test]
fn an_object_that_has_its_lines_to_itself_decides_in_a_code_fence() {
    for text in [
        "```json\n{\"verdict\": \"pass\"}\n```",
        "Looks good.\n\n```JSON\r\n{\r\n  \"verdict\": \"pass\"\r\n}\r\n```\r\nBye.",
        "```\nMy verdict:\n  {\"verdict\": \"pass\"}  \n```",
        "~~~~json\n```\n{\"verdict\": \"pass\"}\n~~~~",
        "```json\n{\"verdict\": \"pass\"}",
    ] {
        assert_eq!(verdict(text), Some("pass"), "{text:?}");
    }
    let fenced = "```json\n{\"verdict\": \"pass\", \"score\": 91}\n```";
    assert_eq!(verdict(&format!("{fenced}\n===REVIEW: FAIL===")), Some("fail"), "the last one counts");
    assert_eq!(verdict(&format!("===REVIEW: FAIL===\n{fenced}")), Some("pass"), "the last one counts");
    assert_eq!(audit(fenced).score, Some(91));
}

#[test]
fn a_verdict_is_read_in_any_case_and_in_both_forms() {
    for (word, wanted) in [
        ("pass", Some("pass")),
        ("Pass", Some("pass")),
        ("PASSED", Some("pass")),
        (" passed ", Some("pass")),
        ("Failed", Some("fail")),
        ("FAIL", Some("fail")),
        ("passable", None),
        ("", None),
    ] {
        assert_eq!(verdict(&json!({ "verdict": word }).to_string()), wanted, "{word:?}");
    }
    assert_eq!(verdict(r#"{"verdict": true}"#), None);
}

#[test]
fn scores_are_rounded_and_stay_between_0_and_100() {
    for (given, score) in [
        (json!(85.5), Some(86)),
        (json!(85.4), Some(85)),
        (json!(150), Some(100)),
        (json!(100.4), Some(100)),
        (json!(1e300), Some(100)),
        (json!(-3), Some(0)),
        (json!(-0.2), Some(0)),
        (json!("85.5"), Some(86)),
        (json!("good"), None),
        (json!("NaN"), None),
        (json!(true), None),
        (json!(null), None),
    ] {
        let text = json!({ "verdict": "pass", "score": given }).to_string();
        assert_eq!(audit(&text).score, score, "{text}");
    }
    for (given, score) in
        [("85.5", Some(86)), ("150", Some(100)), ("-1", Some(0)), ("7", Some(7)), ("A", None), ("", None)]
    {
        let text = format!("===SCORE: {given}===\n===REVIEW: PASS===");
        assert_eq!(audit(&text).score, score, "{text}");
    }
}

#[test]
fn the_candidate_that_ends_last_counts() {
    let json = r#"{"verdict": "fail", "score": 12, "summary": "no"}"#;
    assert_eq!(verdict(&format!("===REVIEW: PASS===\n{json}")), Some("fail"));
    assert_eq!(verdict(&format!("{json}\n===REVIEW: PASS===")), Some("pass"));
    assert_eq!(verdict("===REVIEW: FAIL===\n===REVIEW: PASS==="), Some("pass"));
    assert_eq!(verdict(r#"{"verdict":"pass"} then {"verdict":"fail"} and {"other":1}"#), Some("fail"));
    assert_eq!(verdict(r#"{"verdict":"fail","inner":{"verdict":"pass"}}"#), Some("fail"));
}

#[test]
fn an_answer_in_json_has_score_and_findings() {
    let text = r#"Here it is: { "verdict": "fail", "score": 41.6, "summary": " Tests are missing. ", "more": 1,
            "findings": [{ "file": "src/a.rs", "line": 7, "severity": "critical", "text": "Überlauf" },
                         { "file": "b", "severity": "odd", "text": "x" }, { "file": "c", "text": " " }, 5] }"#;
    let audit = audit(text);
    assert_eq!((audit.score, audit.reason.as_deref()), (Some(42), Some("Tests are missing.")));
    let facts: Vec<_> = audit.findings.iter().map(|f| (f.file.as_str(), f.line, f.severity)).collect();
    assert_eq!(facts, [("src/a.rs", Some(7), Severity::Error), ("b", None, Severity::Warning)]);
}

#[test]
fn what_makes_no_sense_in_an_answer_is_left_out() {
    let read = audit(
        r#"{"verdict": "fail", "score": [85], "summary": " ", "reason": "because",
            "findings": [{"file": "a", "line": 0, "text": "x"}, {"line": -4, "text": "y"},
                         {"file": "b", "line": 7.0, "text": "z"}, {"file": "c", "line": "12", "text": "z"},
                         {"file": "d", "line": 1.5, "text": "z"}]}"#,
    );
    assert_eq!((read.score, read.reason.as_deref()), (None, Some("because")));
    let places: Vec<_> = read.findings.iter().map(|found| (found.file.as_str(), found.line)).collect();
    let wanted = [("a", None), ("", None), ("b", Some(7)), ("c", Some(12)), ("d", None)];
    assert_eq!(places, wanted, "lines are whole numbers, counted from one");
    assert_eq!(audit("===REVIEW: FAIL:  ===").reason, None, "blank is no reason");
}

#[test]
fn a_score_follows_the_same_rule() {
    assert_eq!(audit("===SCORE: 80===\n===SCORE: 95===\n===REVIEW: PASS===").score, Some(95));
    assert_eq!(audit("> ===SCORE: 80===\n===REVIEW: PASS===").score, None);
    assert_eq!(audit("===SCORE: 7===").verdict, None);
}

#[test]
fn ten_megabytes_are_read_in_one_go() {
    let mut text = "{\"a\": [1, {\"verdict\": \"pass\", \n".repeat(350_000);
    text.push_str("\n===REVIEW: FAIL: long===\n");
    assert_eq!(audit(&text).reason.as_deref(), Some("long"));
}

fn entry(kind: EntryKind, turn: u32, id: &str, text: &str) -> LogEntry {
    serde_json::from_value(json!({
        "seq": 1, "at": 0, "execution_id": "e", "turn": turn, "id": id, "parent_id": null,
        "kind": kind, "status": null, "body": { "text": text }, "raw_offset": 0,
    }))
    .unwrap()
}

#[test]
fn pieces_join_and_messages_end_with_a_newline() {
    use EntryKind::{AssistantText as A, Reasoning as R, Stdout as S};
    let said = spoken(&[
        entry(A, 1, "m1", "===REVIEW: "),
        entry(R, 1, "r", "===REVIEW: FAIL==="),
        entry(A, 1, "m1", "PASS==="),
        entry(A, 1, "m2", "next"),
        entry(A, 2, "m2", "other turn"),
        entry(S, 2, "", "line one"),
        entry(S, 2, "", ""),
        entry(S, 2, "", "line two\n"),
        entry(A, 2, "m3", ""),
        entry(A, 2, "", "a"),
        entry(A, 2, "", "b"),
    ]);
    assert_eq!(said, "===REVIEW: PASS===\nnext\nother turn\nline one\n\nline two\na\nb");
}

#[test]
fn a_long_text_is_read_in_bounded_memory() {
    let mut reader = AuditReader::new(100);
    reader.read("{\"verdict\": \"fail\", \"summary\": \"early\"}\n```\n");
    for _ in 0..40 {
        reader.read(&"===REVIEW: PASS===\n".repeat(10_000));
        reader.read(&"no line break in here ".repeat(50_000));
        reader.read("\n");
        let held = [&reader.open, &reader.with_code, &reader.line, &reader.kept];
        assert!(held.iter().map(|text| text.len()).sum::<usize>() < 16 * STRETCH);
    }
    reader.read("```\nthe end");
    let (audit, text) = reader.finish();
    assert_eq!(audit.reason.as_deref(), Some("early"), "what stands in the fence decides nothing");
    assert!(text.len() <= 100 && text.ends_with("the end"));
}

#[test]
fn an_answer_at_the_end_of_a_very_long_line_counts() {
    let mut reader = AuditReader::new(0);
    reader.read(&"x".repeat(6 * STRETCH));
    reader.read("{\"verdict\": \"pass\"}");
    assert_eq!(reader.finish().0.verdict, Some(AuditVerdict::Pass));
    let mut quoted = AuditReader::new(0);
    quoted.read("> ");
    quoted.read(&"x".repeat(6 * STRETCH));
    quoted.read("{\"verdict\": \"pass\"}");
    assert_eq!(quoted.finish().0.verdict, None);
}

proptest! {
    #[test]
    fn streaming_splits_do_not_matter(before in "(?s).{0,40}", cuts in prop::collection::vec(0usize..200, 0..12)) {
        let text = format!("{before}\n```\n===REVIEW: PASS===\n```\nüñí 🦀 says\n===SCORE: 64===\n===REVIEW: FAIL: große Lücke===\n");
        let mut cuts: Vec<usize> = cuts.into_iter().filter(|cut| *cut < text.len() && text.is_char_boundary(*cut)).collect();
        cuts.push(text.len());
        cuts.sort_unstable();
        let mut from = 0;
        let pieces: Vec<LogEntry> = cuts.into_iter().map(|cut| {
            let piece = entry(EntryKind::AssistantText, 1, "m", &text[from..cut]);
            from = cut;
            piece
        }).collect();
        prop_assert_eq!(audit(&spoken(&pieces)), audit(&text));
        prop_assert_eq!(spoken(&pieces), text);
    }

    #[test]
    fn any_text_is_read_without_a_panic(text in "(?s)[{}\"`~>=\\n A-Z:\u{e4}\u{1f980}]{0,200}") {
        let _ = audit(&text);
    }

    #[test]
    fn an_answer_decides_alike_in_plain_text_and_in_a_fence(
        before in "(?s)[a-zä\u{1f980} .\\n]{0,80}",
        fence in "(`{3,6}|~{3,6})(json|JSON|)",
        score in prop::num::f64::NORMAL,
        word in prop::sample::select(vec!["pass", "Fail", "PASSED", "failed"]),
        is_pretty in any::<bool>(),
    ) {
        let answer = json!({ "verdict": word, "score": score, "findings": [{ "file": "a", "text": "`x`" }] });
        let answer = if is_pretty { format!("{answer:#}") } else { answer.to_string() };
        let mark = fence.trim_end_matches(char::is_alphabetic);
        let plain = audit(&format!("{before}\n{answer}\n"));
        prop_assert_eq!(&audit(&format!("{before}\n{fence}\n{answer}\n{mark}\nDone.")), &plain);
        prop_assert!(plain.verdict.is_some() && plain.score.is_some_and(|score| score <= MAX_SCORE));
    }

    #[test]
    fn a_long_fenced_text_is_read_as_a_short_one(lines in 0usize..60_000) {
        let mut text = "words that fill a line of this text\n".repeat(lines);
        text.push_str("```json\n{\"verdict\": \"fail\"}\n```\n");
        prop_assert_eq!(audit(&text).verdict, Some(AuditVerdict::Fail));
    }
}
