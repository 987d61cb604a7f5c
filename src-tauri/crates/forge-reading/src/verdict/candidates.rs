//! The forms of a verdict: markers alone on their lines, and JSON objects.

use forge_model::audit::{Audit, AuditFinding, AuditVerdict, MAX_SCORE, Severity};
use serde_json::{Deserializer, Value};

/// The largest JSON object that is taken for an answer, in bytes.
pub(super) const MAX_JSON_BYTES: usize = 256 * 1024;

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

pub(super) fn last_marker(open: &str) -> Option<(usize, AuditVerdict, Option<String>)> {
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

pub(super) fn last_score(open: &str) -> Option<u8> {
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
pub(super) fn last_object(open: &str, with_code: &str, from_start: bool) -> Option<(usize, Audit)> {
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
