//! The test runners of Rust and Go.

use std::collections::BTreeSet;

use super::failure::{Failure, MESSAGE_LINES};
use crate::diagnostic::{panic_message, place};

/// How nextest marks what did not pass.
const NEXTEST: [&str; 6] = ["FAIL", "TIMEOUT", "SIGABRT", "SIGSEGV", "ABORT", "LEAK-FAIL"];

/// Panics (`thread 'name' panicked at place`), and failed tests that appear only in the list of failures.
pub(super) fn rust(lines: &[&str]) -> Vec<Failure> {
    let mut found: Vec<Failure> = Vec::new();
    let mut listed: Vec<&str> = Vec::new();
    let mut explained: BTreeSet<String> = BTreeSet::new();
    // The test whose captured output the current line belongs to.
    let mut section: Option<&str> = None;
    for (at, line) in lines.iter().enumerate() {
        let line = line.trim();
        let after = lines.get(at + 1..).unwrap_or_default();
        if let Some(name) = line.strip_prefix("---- ").and_then(|it| it.strip_suffix(" stdout ----")) {
            section = Some(name);
            if let Some(error) = after.iter().find(|it| !it.is_empty()).filter(|it| it.starts_with("Error: "))
            {
                found.push(Failure::new(name, [*error]));
                explained.insert(name.to_owned());
            }
        } else if line == "failures:" {
            section = None;
        } else if let Some((thread, at)) = panicked(line) {
            let of_test =
                section.or_else(|| Some(thread).filter(|name| !matches!(*name, "main" | "<unnamed>")));
            let what = of_test.or_else(|| place(at).map(|place| place.path)).unwrap_or(thread);
            let is_first = explained.insert(what.to_owned());
            if is_first || section.is_none() {
                found.push(Failure::new(what, [panic_message(after).as_str()]));
            }
        } else if let Some(name) = line.strip_prefix("test ").and_then(|it| it.strip_suffix(" ... FAILED")) {
            listed.push(name);
        } else {
            listed.extend(of_nextest(line));
        }
    }
    for name in listed {
        // nextest puts the program before the name.
        let of_thread = name.rsplit(' ').next().unwrap_or(name);
        if !explained.contains(of_thread) && explained.insert(name.to_owned()) {
            found.push(Failure::new(name, []));
        }
    }
    found
}

/// The thread, and what follows `panicked at`.
fn panicked(line: &str) -> Option<(&str, &str)> {
    let (thread, rest) = line.strip_prefix("thread '")?.split_once('\'')?;
    let (between, at) = rest.split_once("panicked at ")?;
    // Threads have had a number since Rust 1.91.
    let is_number = between.trim().trim_matches(['(', ')']).chars().all(|c| c.is_ascii_digit());
    is_number.then_some((thread, at))
}

/// `FAIL [   0.335s] (2/2) shop b`.
fn of_nextest(line: &str) -> Option<&str> {
    let (mark, rest) = line.split_once(" [")?;
    let (took, name) = rest.split_once("] ")?;
    let is_mark = NEXTEST.contains(&mark) && took.trim_end().ends_with('s');
    let name = name.trim_start();
    let counted =
        name.strip_prefix('(').and_then(|it| it.split_once(") ")).filter(|(it, _)| it.contains('/'));
    is_mark.then(|| counted.map_or(name, |(_, name)| name))
}

/// `--- FAIL: TestB (0.00s)` with what it logged. A test whose parts failed says nothing by itself.
pub(super) fn go(lines: &[&str]) -> Vec<Failure> {
    let mut found: Vec<Failure> = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let Some(said) = line.trim_start().strip_prefix("--- FAIL: ") else { continue };
        let name = said.split(' ').next().unwrap_or_default();
        let ends = |line: &str| {
            line.is_empty() || ["---", "===", "goroutine "].iter().any(|mark| line.starts_with(mark))
        };
        let body = lines.iter().skip(at + 1).take_while(|line| !ends(line.trim_start()));
        let body = body.take_while(|line| !line.starts_with("FAIL") && !line.starts_with("ok "));
        let body = body.map(|line| line.trim()).map(without_place).take(MESSAGE_LINES);
        found.push(Failure::new(name, body));
    }
    let names: BTreeSet<String> = found.iter().map(|it| it.what.clone()).collect();
    let is_parent = |name: &str| {
        let prefix = format!("{name}/");
        names.range(prefix.clone()..).next().is_some_and(|name| name.starts_with(&prefix))
    };
    found.retain(|failure| !failure.why.is_empty() || !is_parent(&failure.what));
    found
}

fn without_place(line: &str) -> &str {
    place(line).filter(|place| place.path.ends_with(".go")).map_or(line, |place| place.rest)
}
