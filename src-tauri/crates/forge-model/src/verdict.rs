//! What an auditor decided, read from what it said.
//!
//! A verdict is a marker alone on a line (`===REVIEW: PASS===`, `===REVIEW: FAIL===`,
//! `===REVIEW: FAIL: reason===`) or a JSON object with a `verdict`. A marker in a code fence decides nothing, and
//! nothing in a block quote does. A JSON object in a code fence decides when it has its lines to itself and the
//! fence is no diff: agents fence their answers, and quoted code is rarely a whole object. Of all candidates the one
//! that ends last counts: an auditor that repeats its instruction before it answers has decided nothing by that.
//! Without a candidate the auditor is unusable; the work is not rejected for it.

use serde_json::{Deserializer, Value};

use crate::{
    contract,
    log::{EntryKind, LogEntry},
    names,
};

/// The largest JSON object that is taken for an answer, in bytes.
const MAX_JSON_BYTES: usize = 256 * 1024;
/// The highest score.
pub const MAX_SCORE: u8 = 100;

names! {
    /// What an auditor decided.
    pub enum AuditVerdict {
        /// The work is good.
        Pass = "pass",
        /// It needs changes.
        Fail = "fail",
    }
}

names! {
    /// How much a finding matters.
    pub enum Severity {
        /// The work cannot stay like this.
        Error = "error",
        /// It should be better.
        Warning = "warning",
        /// Something to know.
        Info = "info",
    }
}

contract! {
    /// Something an auditor found at a place of the diff.
    pub struct AuditFinding {
        /// The file, from the root of the repository.
        pub file: String,
        /// The line in the new version, from 1; null for the file as a whole.
        pub line: Option<u32>,
        /// How much it matters.
        pub severity: Severity,
        /// What.
        pub text: String,
    }

    /// What an auditor's text says.
    #[derive(Default)]
    pub struct Audit {
        /// Its decision; null when it gave none.
        pub verdict: Option<AuditVerdict>,
        /// Why, in its words.
        pub reason: Option<String>,
        /// 0 to 100.
        pub score: Option<u8>,
        /// What it found.
        pub findings: Vec<AuditFinding>,
    }
}

/// Puts together what an agent said, entry by entry, so that a long log need not be in memory.
///
/// Pieces of one message join without a separator; messages and lines of output end with a newline.
#[derive(Debug, Default)]
pub struct Speech {
    /// Turn, identity and kind of the message that was heard last.
    last: Option<(u32, String, EntryKind)>,
    /// Whether the text so far needs a newline before another message.
    is_open: bool,
}

impl Speech {
    /// Gives what an entry adds to the text to `tell`, in order; nothing for entries that are no speech.
    pub fn hear(&mut self, entry: &LogEntry, mut tell: impl FnMut(&str)) {
        if !matches!(entry.kind, EntryKind::AssistantText | EntryKind::Stdout) {
            return;
        }
        let Some(piece) = entry.body.get("text").and_then(Value::as_str) else { return };
        let goes_on = self.last.as_ref().is_some_and(|(turn, id, kind)| {
            *kind == EntryKind::AssistantText
                && entry.kind == *kind
                && !id.is_empty()
                && (*turn, id) == (entry.turn, &entry.id)
        });
        if !goes_on && self.is_open {
            tell("\n");
            self.is_open = false;
        }
        match piece.chars().next_back() {
            Some(last) => {
                tell(piece);
                self.is_open = last != '\n';
            }
            // A line of output without a word is an empty line; a message's empty piece is nothing.
            None => self.is_open |= entry.kind == EntryKind::Stdout,
        }
        if !goes_on {
            self.last = Some((entry.turn, entry.id.clone(), entry.kind));
        }
    }
}

/// The text that a log's verdict is read from: everything the agent said, in order.
#[must_use]
pub fn spoken(entries: &[LogEntry]) -> String {
    let (mut text, mut speech) = (String::new(), Speech::default());
    for entry in entries {
        speech.hear(entry, |piece| text.push_str(piece));
    }
    text
}

/// Reads the verdict of an auditor's whole text.
#[must_use]
pub fn audit(text: &str) -> Audit {
    let mut reader = AuditReader::new(0);
    reader.read(text);
    reader.finish().0
}

/// How much of the text that counts is looked at in one go, in bytes; an answer may span two such stretches.
const STRETCH: usize = 2 * MAX_JSON_BYTES;

/// A code fence that is open.
#[derive(Debug, Clone, Copy)]
struct Fence {
    mark: char,
    count: usize,
    is_diff: bool,
}

/// What a line may decide, by where it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    /// In plain text: everything.
    Open,
    /// In a code fence: a whole object may.
    Code,
    /// The mark of a fence: nothing, and no object goes on across it.
    Mark,
    /// In a block quote or a diff: nothing.
    Hidden,
}

/// Reads a verdict from what an auditor says, piece by piece and in bounded memory.
#[derive(Debug, Default)]
pub struct AuditReader {
    speech: Speech,
    /// How much of the end of the text is kept, in bytes, and that end.
    keep: usize,
    kept: String,
    /// The line that has not ended yet.
    line: String,
    /// Whether its beginning was dropped, and if so where it stands.
    cut: Option<Standing>,
    fence: Option<Fence>,
    /// The text in which markers decide, from byte `offset` of the whole on; other text is blank.
    open: String,
    /// The text in which objects decide: `open`, byte for byte, with the content of code fences.
    with_code: String,
    offset: usize,
    marker: Option<(usize, AuditVerdict, Option<String>)>,
    answer: Option<(usize, Audit)>,
    score: Option<u8>,
}

impl AuditReader {
    /// One that keeps the last `keep` bytes of the text for people to read.
    #[must_use]
    pub fn new(keep: usize) -> Self {
        Self { keep, ..Self::default() }
    }

    /// Takes an entry of the run's log.
    pub fn hear(&mut self, entry: &LogEntry) {
        let mut speech = std::mem::take(&mut self.speech);
        speech.hear(entry, |piece| self.read(piece));
        self.speech = speech;
    }

    /// Takes the next piece of text.
    pub fn read(&mut self, text: &str) {
        if self.keep > 0 {
            self.kept.push_str(text);
            drop_front(&mut self.kept, self.keep, 2 * self.keep);
        }
        for piece in text.split_inclusive('\n') {
            self.line.push_str(piece);
            if piece.ends_with('\n') {
                self.end_line();
            } else if self.line.len() > 2 * STRETCH {
                // No marker is that long, and an answer within it is at its end.
                // A line of code whose beginning is gone holds no whole object.
                let is_open = self.fence.is_none() && !is_quoted(&self.line);
                self.cut.get_or_insert(if is_open { Standing::Open } else { Standing::Hidden });
                self.offset += drop_front(&mut self.line, STRETCH, STRETCH);
            }
        }
    }

    /// What was decided, now that the text is over, and the end of the text.
    #[must_use]
    pub fn finish(mut self) -> (Audit, String) {
        self.end_line();
        self.look();
        let marker_ends = self.marker.as_ref().map(|(end, ..)| *end);
        let audit = match (self.marker, self.answer) {
            (_, Some((end, answer))) if marker_ends.is_none_or(|marker_end| end > marker_end) => {
                Audit { score: answer.score.or(self.score), ..answer }
            }
            (Some((_, verdict, reason)), _) => {
                Audit { verdict: Some(verdict), reason, score: self.score, findings: Vec::new() }
            }
            (None, _) => Audit { score: self.score, ..Audit::default() },
        };
        drop_front(&mut self.kept, self.keep, self.keep);
        (audit, self.kept)
    }

    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        let standing = match self.cut.take() {
            Some(standing) => standing,
            None => self.standing(&line),
        };
        let blank = |filler: char| line.bytes().map(move |byte| if byte == b'\n' { '\n' } else { filler });
        match standing {
            Standing::Open => self.open.push_str(&line),
            Standing::Code | Standing::Mark | Standing::Hidden => self.open.extend(blank(' ')),
        }
        match standing {
            Standing::Open | Standing::Code => self.with_code.push_str(&line),
            Standing::Mark => self.with_code.extend(blank('`')),
            Standing::Hidden => self.with_code.extend(blank(' ')),
        }
        if self.with_code.len() > 4 * STRETCH {
            self.look();
            // A place between two characters of this text is one of the other, too.
            let dropped = drop_front(&mut self.with_code, STRETCH, STRETCH);
            self.open.drain(..dropped);
            self.offset += dropped;
        }
    }

    /// Where a line stands; follows the fences.
    fn standing(&mut self, line: &str) -> Standing {
        let mark = fence_mark(line);
        match (self.fence, mark) {
            (None, Some((mark, count, _))) => {
                let info = line.trim_start_matches([' ', mark]).trim().to_lowercase();
                let is_diff = info.starts_with("diff") || info.starts_with("patch");
                self.fence = Some(Fence { mark, count, is_diff });
                Standing::Mark
            }
            (Some(fence), Some((mark, count, true))) if mark == fence.mark && count >= fence.count => {
                self.fence = None;
                Standing::Mark
            }
            (Some(Fence { is_diff: true, .. }), _) => Standing::Hidden,
            _ if is_quoted(line) => Standing::Hidden,
            (Some(_), _) => Standing::Code,
            (None, None) => Standing::Open,
        }
    }

    /// Looks for candidates in the text at hand; the last of all counts.
    fn look(&mut self) {
        let offset = self.offset;
        let newer = |end: usize, known: Option<usize>| known.is_none_or(|known| end > known);
        if let Some((end, verdict, reason)) = last_marker(&self.open)
            && newer(offset + end, self.marker.as_ref().map(|known| known.0))
        {
            self.marker = Some((offset + end, verdict, reason));
        }
        if let Some((end, answer)) = last_object(&self.open, &self.with_code, offset == 0)
            && newer(offset + end, self.answer.as_ref().map(|known| known.0))
        {
            self.answer = Some((offset + end, answer));
        }
        self.score = last_score(&self.open).or(self.score);
    }
}

/// Drops the beginning of a text that is longer than `limit`, but for its last `keep` bytes; how much.
fn drop_front(text: &mut String, keep: usize, limit: usize) -> usize {
    if text.len() <= limit {
        return 0;
    }
    let from = text.len() - keep;
    let cut = (from..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(from);
    text.drain(..cut);
    cut
}

fn is_quoted(line: &str) -> bool {
    indent(line) < 4 && line.trim_start_matches(' ').starts_with('>')
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

/// A line that opens or closes a code fence: its character, how many, and whether nothing follows.
pub(crate) fn fence_mark(line: &str) -> Option<(char, usize, bool)> {
    if indent(line) > 3 {
        return None;
    }
    let rest = line.trim_start_matches(' ');
    let mark = rest.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
    let after = rest.trim_start_matches(mark);
    let count = rest.len() - after.len();
    // "```x```" on one line is code in a sentence, no fence.
    (count >= 3 && !(mark == '`' && after.contains('`'))).then(|| (mark, count, after.trim().is_empty()))
}

/// The lines with where each ends.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut end = 0;
    text.split_inclusive('\n').map(move |line| {
        end += line.len();
        (end, line.trim())
    })
}

fn marked<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    line.strip_prefix("===")?.strip_prefix(name)?.strip_prefix(':')?.strip_suffix("===").map(str::trim)
}

fn last_marker(open: &str) -> Option<(usize, AuditVerdict, Option<String>)> {
    let read = |(end, line): (usize, &str)| {
        let said = line.strip_prefix("===REVIEW: ")?.strip_suffix("===")?;
        match said.split_once(':') {
            None if said == "PASS" => Some((end, AuditVerdict::Pass, None)),
            None if said == "FAIL" => Some((end, AuditVerdict::Fail, None)),
            Some(("FAIL", reason)) => {
                let reason = reason.trim();
                Some((end, AuditVerdict::Fail, (!reason.is_empty()).then(|| reason.to_owned())))
            }
            None | Some(_) => None,
        }
    };
    lines(open).filter_map(read).last()
}

fn last_score(open: &str) -> Option<u8> {
    let read = |(_, line): (usize, &str)| score_of(marked(line, "SCORE")?.parse().ok()?);
    lines(open).filter_map(read).last()
}

/// A score as a whole number from 0 to [`MAX_SCORE`]; none for what is no number.
fn score_of(given: f64) -> Option<u8> {
    let score = given.clamp(0.0, f64::from(MAX_SCORE)).round().abs();
    // A float has no other way to an integer; not-a-number stays what it is and is no score.
    format!("{score:.0}").parse().ok()
}

/// The last object with a verdict, and where it ends. `with_code` is `open` with the content of code fences;
/// `from_start` says whether both begin where the whole text does.
fn last_object(open: &str, with_code: &str, from_start: bool) -> Option<(usize, Audit)> {
    let bytes = with_code.as_bytes();
    let mut found = None;
    let mut at = 0;
    while let Some(start) = bytes.get(at..).and_then(|rest| rest.iter().position(|byte| *byte == b'{')) {
        let start = at + start;
        at = start + 1;
        let in_code = open.as_bytes().get(start) != Some(&b'{');
        let text = if in_code { with_code } else { open };
        if in_code && !begins_line(with_code, start, from_start) {
            continue;
        }
        let most = (start + MAX_JSON_BYTES).min(text.len());
        let cut = (start..=most).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(start);
        let mut reader =
            Deserializer::from_str(text.get(start..cut).unwrap_or_default()).into_iter::<Value>();
        if let Some(Ok(value)) = reader.next() {
            let end = start + reader.byte_offset().max(1);
            if !in_code || ends_line(with_code, end) {
                // What is inside an object is part of it, no candidate of its own.
                at = end;
                found = read_object(&value).map(|answer| (at, answer)).or(found);
            }
        }
    }
    found
}

/// Whether only blanks stand before a place on its line.
fn begins_line(text: &str, at: usize, from_start: bool) -> bool {
    let before = text.get(..at).unwrap_or_default().trim_end_matches([' ', '\t']);
    before.ends_with('\n') || (before.is_empty() && from_start)
}

/// Whether only blanks stand behind a place on its line.
fn ends_line(text: &str, at: usize) -> bool {
    let rest = text.get(at..).unwrap_or_default();
    rest.lines().next().is_none_or(|rest| rest.trim().is_empty())
}

fn read_object(value: &Value) -> Option<Audit> {
    let verdict = match value.get("verdict")?.as_str()?.trim().to_ascii_lowercase().as_str() {
        "pass" | "passed" => AuditVerdict::Pass,
        "fail" | "failed" => AuditVerdict::Fail,
        _ => return None,
    };
    let text = |key: &str| {
        value
            .get(key)
            .and_then(Value::as_str)
            .map(str::trim)
            .filter(|text| !text.is_empty())
            .map(str::to_owned)
    };
    Some(Audit {
        verdict: Some(verdict),
        reason: text("summary").or_else(|| text("reason")),
        score: value.get("score").and_then(number).and_then(score_of),
        findings: value
            .get("findings")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(finding)
            .collect(),
    })
}

/// A number, also one that is written as text.
fn number(value: &Value) -> Option<f64> {
    value.as_f64().or_else(|| value.as_str()?.trim().parse().ok())
}

/// A line of a file, from 1; none for what is no whole number.
fn line_number(value: &Value) -> Option<u32> {
    let line = number(value).filter(|line| line.fract() == 0.0)?;
    format!("{line:.0}").parse().ok().filter(|line| *line > 0)
}

fn finding(value: &Value) -> Option<AuditFinding> {
    let text = value.get("text").and_then(Value::as_str).filter(|text| !text.trim().is_empty())?;
    let severity = value.get("severity").and_then(Value::as_str).map(str::to_lowercase);
    Some(AuditFinding {
        file: value.get("file").and_then(Value::as_str).unwrap_or_default().to_owned(),
        line: value.get("line").and_then(line_number),
        severity: match severity.as_deref() {
            Some("error" | "critical" | "high" | "blocker" | "major") => Severity::Error,
            Some("info" | "note" | "low" | "nit" | "minor" | "suggestion") => Severity::Info,
            Some(_) | None => Severity::Warning,
        },
        text: text.trim().to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

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
        assert_eq!(
            verdict("a ```b``` c\n===REVIEW: PASS==="),
            Some("pass"),
            "code in a sentence is no fence"
        );
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
}
