//! Diagnostics: which places of the files a failing command complains about, read from what it printed.
//!
//! A table of parsers, one per tool; the first that recognises something answers, and only when none does the
//! generic `file:line` is looked for. A diagnostic is an error's own place: notes, warnings and frames of libraries
//! are none, and neither is a place of which nothing is said. Paths are relative to the worktree; whatever lies outside of it is not named at all.

mod node;
mod output;

use std::collections::BTreeSet;

pub use output::{Diagnostic, Tool};
pub(crate) use output::{is_exception, place};

use output::{MAX_MESSAGE, Output, Place};

/// Reads what one tool printed.
type Parser = fn(&Output<'_>) -> Vec<Diagnostic>;

/// One for each tool. What none of them recognises is read by [`generic`].
const PARSERS: [Parser; 6] = [rustc, tsc, eslint, pytest, go, node::node];

/// What a failing command complains about; `worktree` is the absolute path of the folder it ran in.
#[must_use]
pub fn diagnostics(output: &str, worktree: &str) -> Vec<Diagnostic> {
    let plain = without_escapes(output);
    let output = Output::new(&plain, worktree);
    let of_tools = PARSERS.iter().map(|parse| parse(&output)).find(|found| !found.is_empty());
    of_tools.unwrap_or_else(|| generic(&output))
}

/// What every tool that is known complains about in a text without colours.
pub(crate) fn tool_diagnostics(plain: &str, worktree: &str) -> Vec<Diagnostic> {
    let output = Output::new(plain, worktree);
    PARSERS.iter().flat_map(|parse| parse(&output)).collect()
}

/// Every `file:line` that something is said of in a text without colours.
pub(crate) fn generic_diagnostics(plain: &str, worktree: &str) -> Vec<Diagnostic> {
    generic(&Output::new(plain, worktree))
}

/// The files that a failing command complains about.
#[must_use]
pub fn named_files(output: &str, worktree: &str) -> BTreeSet<String> {
    diagnostics(output, worktree).into_iter().map(|it| it.path).collect()
}

/// Finds the changed file that a tool's path refers to: the same path, or the only one that ends with it, since a tool
/// may run in a folder of the worktree.
#[must_use]
pub fn changed_file<'c>(named: &str, changed: &'c [String]) -> Option<&'c str> {
    if let Some(same) = changed.iter().find(|path| *path == named) {
        return Some(same);
    }
    let mut ends = changed.iter().filter(|path| path.strip_suffix(named).is_some_and(|it| it.ends_with('/')));
    let only = ends.next()?;
    ends.next().is_none().then_some(only)
}

fn rustc(output: &Output<'_>) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    // The error whose place is still to come.
    let mut error: Option<&str> = None;
    for (at, line) in output.lines.iter().enumerate() {
        let trimmed = line.trim_start();
        if let Some(place) = trimmed.strip_prefix("--> ").and_then(place) {
            let message = error.take();
            found.extend(message.and_then(|message| output.found(Tool::Rustc, &place, message)));
        } else if let Some((_, panic)) = line.split_once("panicked at ") {
            let (message, at) = match panic.strip_prefix('\'').and_then(|old| old.rsplit_once("', ")) {
                Some((message, at)) => (message.to_owned(), at),
                None => (panic_message(output.lines.get(at + 1..).unwrap_or_default()), panic),
            };
            found.extend(place(at).and_then(|place| output.found(Tool::Rustc, &place, &message)));
        } else if let Some(unformatted) = line.strip_prefix("Diff in ") {
            let said = unformatted.replace(" at line ", ":");
            found.extend(place(&said).and_then(|it| output.found(Tool::Rustc, &it, "not formatted")));
        } else if let Some(place) = place(line).filter(|place| is_error(place.rest)) {
            // The short form. Compilers of C say the same of their files.
            let of_rust = place.path.ends_with(".rs");
            found.extend(of_rust.then(|| output.found(Tool::Rustc, &place, place.rest)).flatten());
        } else if is_error(line) {
            error = Some(line);
        } else if ["warning", "note:", "help:"].iter().any(|other| line.starts_with(other)) {
            error = None;
        }
    }
    found
}

/// What a panic says behind its place, with both sides of an assertion.
pub(crate) fn panic_message(after: &[&str]) -> String {
    let ends =
        |line: &str| line.is_empty() || line.starts_with("stack backtrace:") || line.starts_with("note:");
    let lines = after.iter().map(|line| line.trim()).take_while(|line| !ends(line));
    let mut message = String::new();
    for line in lines {
        if !message.is_empty() {
            message.push(' ');
        }
        message.push_str(line);
        if message.len() > MAX_MESSAGE {
            break;
        }
    }
    message
}

fn is_error(line: &str) -> bool {
    line.strip_prefix("error").is_some_and(|rest| rest.starts_with([':', '[']))
}

fn tsc(output: &Output<'_>) -> Vec<Diagnostic> {
    let each = |line: &&str| {
        let (head, rest) = line.split_once("error TS")?;
        let head = head.trim_end();
        let place = if let Some(plain) = head.strip_suffix("):") {
            let (path, at) = plain.rsplit_once('(')?;
            let (line, column) = at.split_once(',')?;
            Place { path, line: line.parse().ok(), column: column.parse().ok(), rest: "" }
        } else {
            place(head.strip_suffix('-')?.trim_end())?
        };
        place.line?;
        output.found(Tool::Tsc, &place, &format!("TS{rest}"))
    };
    output.lines.iter().filter_map(each).collect()
}

fn eslint(output: &Output<'_>) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    let mut file: Option<&str> = None;
    for line in &output.lines {
        let is_indented = line.starts_with(' ');
        if let Some((place, message)) = stylish(line).filter(|_| is_indented) {
            let place = file.map(|path| Place { path, ..place });
            found.extend(place.and_then(|place| output.found(Tool::Eslint, &place, message)));
        } else if let Some(one) = unix(line).or_else(|| compact(line)) {
            found.extend(output.found(Tool::Eslint, &one.0, one.1));
        } else if !is_indented {
            file = Some(line.trim_end()).filter(|path| path.contains(['/', '.']));
        }
    }
    found
}

/// `  1:5  error  message  rule`, below its file.
fn stylish(line: &str) -> Option<(Place<'static>, &str)> {
    let (at, rest) = line.trim_start().split_once("  ")?;
    let (row, column) = at.split_once(':')?;
    let message = rest.trim_start().strip_prefix("error  ")?;
    let place = Place { path: "", line: Some(row.parse().ok()?), column: column.parse().ok(), rest: "" };
    Some((place, message))
}

/// `file:1:5: message [Error/rule]`.
fn unix(line: &str) -> Option<(Place<'_>, &str)> {
    let place = place(line)?;
    let (message, rule) = place.rest.trim_end().strip_suffix(']')?.rsplit_once(" [")?;
    (rule == "Error" || rule.starts_with("Error/")).then_some((place, message))
}

/// `file: line 1, col 5, Error - message`.
fn compact(line: &str) -> Option<(Place<'_>, &str)> {
    let (path, rest) = line.split_once(": line ")?;
    let (row, rest) = rest.split_once(", col ")?;
    let (column, message) = rest.split_once(", Error - ")?;
    Some((Place { path, line: Some(row.parse().ok()?), column: column.parse().ok(), rest: "" }, message))
}

/// Each failure is a run of frames and what was raised in the last of them.
fn pytest(output: &Output<'_>) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    let mut raised: Option<Diagnostic> = None;
    // What was raised in full; the place behind it says the kind alone.
    let mut in_full: Option<&str> = None;
    for line in &output.lines {
        let begins =
            ["____", "====", "----", "Traceback (", "!!!!"].iter().any(|mark| line.starts_with(mark));
        if begins {
            found.extend(raised.take().filter(|it| !it.message.is_empty()));
            in_full = None;
            continue;
        }
        if line.starts_with("E  ") {
            in_full.get_or_insert(line.strip_prefix('E').unwrap_or_default().trim());
        }
        let said = line.strip_prefix("E  ").unwrap_or(line).trim_start();
        if let Some(frame) = python_frame(said) {
            raised = output.found(Tool::Pytest, &frame, "").or(raised);
        } else if let Some(frame) = place(line).filter(|place| place.path.ends_with(".py")) {
            let message = if frame.rest.starts_with("in ") { "" } else { frame.rest };
            let message = in_full.filter(|_| is_bare_exception(message)).unwrap_or(message);
            // Frames of libraries are not where the error is to be mended.
            raised = match output.found(Tool::Pytest, &frame, message) {
                Some(frame) => Some(frame),
                None => raised.map(|frame| Diagnostic { message: message.to_owned(), ..frame }),
            };
        } else if let Some(frame) = &mut raised {
            let is_raised = line.starts_with("E  ");
            let is_message = is_raised || is_exception(line);
            // An error of the form is shown below the line that it is in.
            let is_better = is_raised && is_exception(said) && !is_exception(&frame.message);
            if is_message && (frame.message.is_empty() || is_better) {
                frame.message = said.chars().take(MAX_MESSAGE).collect();
            }
        }
    }
    found.extend(raised.filter(|it| !it.message.is_empty()));
    found
}

/// `File "path", line 4, in name`.
fn python_frame(line: &str) -> Option<Place<'_>> {
    let (path, rest) = line.strip_prefix("File \"")?.split_once("\", line ")?;
    let digits = rest.split(|c: char| !c.is_ascii_digit()).next()?;
    Some(Place { path, line: Some(digits.parse().ok()?), column: None, rest: "" })
}

/// `AssertionError`, without what it says.
fn is_bare_exception(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.'))
}

fn go(output: &Output<'_>) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    let mut panic: Option<&str> = None;
    for line in &output.lines {
        let of_go = |place: &Place<'_>| place.path.ends_with(".go");
        if let Some(message) = line.trim_start().strip_prefix("panic: ") {
            panic.get_or_insert(message);
        } else if line.starts_with('\t') {
            // The first frame of the work itself; those above it are the runtime's.
            let frame = place(line.split(" +0x").next().unwrap_or_default().trim()).filter(of_go);
            let frame = frame.zip(panic).and_then(|(frame, why)| output.found(Tool::Go, &frame, why));
            if let Some(frame) = frame {
                found.push(frame);
                panic = None;
            }
        } else {
            let said = line.trim_start();
            let said = said.strip_prefix("vet: ").unwrap_or(said);
            let place = place(said).filter(of_go).filter(|place| !place.rest.is_empty());
            found.extend(place.and_then(|place| output.found(Tool::Go, &place, place.rest)));
        }
    }
    found
}

fn generic(output: &Output<'_>) -> Vec<Diagnostic> {
    let each = |line: &&str| {
        let line = line.trim_start();
        let place = place(line)?;
        let (path, rest) = (place.path, place.rest);
        let name = path.rsplit('/').next()?;
        let (_, ending) = name.rsplit_once('.')?;
        let is_file = ending.starts_with(|c: char| c.is_ascii_alphabetic())
            && !path.contains("://")
            && !path.contains(char::is_whitespace);
        (is_file && !rest.is_empty()).then(|| output.found(Tool::Generic, &place, rest)).flatten()
    };
    let mut found: Vec<Diagnostic> = output.lines.iter().filter_map(each).collect();
    let is_remark = |it: &Diagnostic| ["warning", "note"].iter().any(|kind| it.message.starts_with(kind));
    // Where there are errors, those are what it fails for.
    if !found.iter().all(is_remark) {
        found.retain(|it| !is_remark(it));
    }
    found
}

/// The text without colours, titles and carriage returns.
pub(crate) fn without_escapes(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match (c, chars.peek()) {
            ('\r', _) => {}
            ('\u{1b}', Some('[')) => {
                chars.next();
                let _end = chars.find(|c| ('\u{40}'..='\u{7e}').contains(c));
            }
            ('\u{1b}', Some(']')) => {
                let mut before = ' ';
                let _end = chars.find(|c| {
                    let ends = *c == '\u{7}' || (before == '\u{1b}' && *c == '\\');
                    before = *c;
                    ends
                });
            }
            ('\u{1b}', _) => {
                chars.next();
            }
            _ => plain.push(c),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_named_file_is_found_among_the_changed_ones() {
        let changed =
            ["app/src/a.rs", "lib/src/b.rs", "app/src/c.rs", "lib/src/c.rs", "b.rs"].map(str::to_owned);
        let cases = [
            ("app/src/a.rs", Some("app/src/a.rs")),
            ("src/a.rs", Some("app/src/a.rs")),
            ("src/c.rs", None),
            ("b.rs", Some("b.rs")),
            ("rc/a.rs", None),
            ("x.rs", None),
        ];
        for (named, meant) in cases {
            assert_eq!(changed_file(named, &changed), meant, "{named}");
        }
    }

    #[test]
    fn escapes_go() {
        let text = "\u{1b}[1m\u{1b}[92ma\u{1b}[0m\r\n\u{1b}]8;;http://x\u{1b}\\b\u{1b}]0;t\u{7}c";
        assert_eq!(without_escapes(text), "a\nbc");
    }
}
