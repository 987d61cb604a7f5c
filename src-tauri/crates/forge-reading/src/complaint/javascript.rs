//! Test runners of JavaScript: everything that speaks TAP, `node --test`, Jest, Vitest, Mocha.

use std::collections::BTreeMap;

use super::failure::{Failure, MESSAGE_LINES};
use crate::diagnostic::is_exception;

/// `not ok 2 - name` with its block; what failed only since a part of it did is left out. Tests of one name are told apart by
/// how many failed before, since each of them has a number of its own.
pub(super) fn tap(lines: &[&str]) -> Vec<Failure> {
    let mut found = Vec::new();
    let mut failed: BTreeMap<&str, usize> = BTreeMap::new();
    for (at, line) in lines.iter().enumerate() {
        let Some(said) = line.trim_start().strip_prefix("not ok") else { continue };
        let said = said.trim_start().trim_start_matches(|c: char| c.is_ascii_digit()).trim_start();
        let name = said.strip_prefix("- ").unwrap_or(said);
        let is_planned = ["# skip", "# todo"].iter().any(|mark| name.to_lowercase().contains(mark));
        let block = block(lines.get(at + 1..).unwrap_or_default());
        let of_parts = block.iter().any(|line| line.contains("'subtestsFailed'"));
        if !is_planned && !of_parts {
            let name = name.split(" # ").next().unwrap_or_default();
            let before = failed.entry(name.trim()).or_default();
            let name = format!("{name}{}", " again".repeat(*before));
            *before += 1;
            found.push(Failure::new(&name, said_in(&block, lines)));
        }
    }
    found
}

/// The lines from `---` to `...` behind a test.
fn block<'l>(after: &[&'l str]) -> Vec<&'l str> {
    match after.first().map(|line| line.trim()) {
        Some("---") => after.iter().skip(1).take_while(|line| line.trim() != "...").copied().collect(),
        _ => Vec::new(),
    }
}

/// What a block says: its error, else what was expected and what came.
fn said_in<'l>(block: &[&'l str], all: &[&'l str]) -> Vec<&'l str> {
    let key = |line: &str, keys: &[&str]| {
        keys.iter().find_map(|key| Some(line.trim_start().strip_prefix(*key)?.strip_prefix(':')?.len()))
    };
    let Some(at) = block.iter().position(|line| key(line, &["error", "message"]).is_some()) else {
        let told = |line: &&&str| key(line, &["operator", "expected", "actual", "found", "wanted"]).is_some();
        return block.iter().filter(told).copied().collect();
    };
    let Some(line) = block.get(at) else { return Vec::new() };
    let value = key(line, &["error", "message"]).and_then(|rest| line.get(line.len() - rest..));
    let value = value.unwrap_or_default().trim();
    if value.starts_with(['|', '>']) {
        let deep = indent(line);
        let below =
            block.iter().skip(at + 1).take_while(|line| line.trim().is_empty() || indent(line) > deep);
        return below.copied().collect();
    }
    let mut said = vec![value.trim_matches(['\'', '"'])];
    // A file that died as a whole: what it printed is among the comments.
    if said == ["test failed"] {
        said.extend(all.iter().filter_map(|line| line.strip_prefix("# ")).find(|line| is_exception(line)));
    }
    said
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// Below `failing tests:`, `✖ name (1.2ms)` with what it says.
pub(super) fn node_spec(lines: &[&str]) -> Vec<Failure> {
    let Some(from) = lines.iter().position(|line| line.trim() == "✖ failing tests:") else {
        return Vec::new();
    };
    let below = lines.get(from + 1..).unwrap_or_default();
    let mut found = Vec::new();
    for (at, line) in below.iter().enumerate() {
        let Some(name) = line.trim_start().strip_prefix("✖ ") else { continue };
        let name = name.rsplit_once(" (").map_or(name, |(name, _)| name);
        let after = below.iter().skip(at + 1).take_while(|line| !line.trim_start().starts_with("✖ "));
        let mut why: Vec<&str> = message(after.copied()).collect();
        if why.first().is_some_and(|line| line.trim().trim_matches('\'') == "test failed") {
            why.extend(lines.iter().find(|line| is_exception(line)));
        }
        found.push(Failure::new(name, why));
    }
    found
}

/// A message up to its frames and the code around it.
fn message<'l>(lines: impl Iterator<Item = &'l str>) -> impl Iterator<Item = &'l str> {
    let ends = |line: &str| {
        let line = line.trim_start();
        line.starts_with("at ")
            || line.starts_with("❯ ")
            || line.starts_with("test at ")
            || line.starts_with('⎯')
    };
    let code = |line: &str| {
        let line =
            line.trim_start().trim_start_matches("> ").trim_start_matches(|c: char| c.is_ascii_digit());
        line.trim_start().starts_with('|')
    };
    lines.take_while(move |line| !ends(line)).filter(move |line| !code(line))
}

/// `  ● suite › test` below `FAIL file`.
pub(super) fn jest(lines: &[&str]) -> Vec<Failure> {
    let mut found = Vec::new();
    let mut file = "";
    for (at, line) in lines.iter().enumerate() {
        if let Some(failed) = line.strip_prefix("FAIL ") {
            file = failed.rsplit_once(" (").map_or(failed, |(file, _)| file).trim();
        }
        let Some(name) = line.strip_prefix("  ● ").filter(|name| *name != "Console") else { continue };
        let heads =
            |line: &str| ["  ● ", "FAIL ", "PASS ", "Test Suites:"].iter().any(|mark| line.starts_with(mark));
        let after = lines.iter().skip(at + 1).take_while(|line| !heads(line));
        let mut why: Vec<&str> = message(after.copied()).collect();
        // Before its details stands what Jest says about everything that it cannot read.
        if let Some(details) = why.iter().position(|line| line.trim() == "Details:") {
            why.drain(..=details);
        }
        found.push(Failure::new(&format!("{file} {name}"), why));
    }
    found
}

/// ` FAIL  file > test`, with its error on the next lines.
pub(super) fn vitest(lines: &[&str]) -> Vec<Failure> {
    let mut found = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let Some(name) = line.trim_start().strip_prefix("FAIL  ") else { continue };
        let after = lines.iter().skip(at + 1).take_while(|line| !line.trim_start().starts_with("FAIL  "));
        found.push(Failure::new(name, message(after.copied())));
    }
    found
}

/// Below `2 failing`, `1) suite`, the names of the test each further in than the last, and what it says.
pub(super) fn mocha(lines: &[&str]) -> Vec<Failure> {
    let counts = |line: &&str| {
        let (number, word) = line.trim().split_once(' ').unwrap_or_default();
        word == "failing" && !number.is_empty() && number.chars().all(|c| c.is_ascii_digit())
    };
    let Some(from) = lines.iter().position(counts) else { return Vec::new() };
    let mut found = Vec::new();
    let below = lines.get(from + 1..).unwrap_or_default();
    for (at, line) in below.iter().enumerate() {
        let Some(title) = numbered(line) else { continue };
        let after = below.iter().skip(at + 1).take_while(|line| numbered(line).is_none());
        let after: Vec<&str> = after.copied().collect();
        let names: Vec<&str> =
            after.iter().map(|line| line.trim()).take_while(|line| !line.is_empty()).collect();
        let why = message(after.iter().skip(names.len()).copied()).take(2 * MESSAGE_LINES);
        let name = format!("{title} {}", names.join(" "));
        found.push(Failure::new(name.trim_end_matches([':', ' ']), why));
    }
    found
}

/// `  1) name`.
fn numbered(line: &str) -> Option<&str> {
    let (number, title) = line.trim_start().split_once(") ")?;
    let is_number = !number.is_empty() && number.chars().all(|c| c.is_ascii_digit());
    (is_number && line.starts_with("  ")).then_some(title)
}
