//! What Node says when a program dies: the place of the throw, the line itself, a caret, the error, its frames.

use super::output::{Diagnostic, MAX_MESSAGE, Output, Place, Tool, is_exception, place};

/// How far behind its place an error may be told: its line of code and the caret stand between.
const HEAD_LINES: usize = 6;
/// How many lines of a message are read where the first one announces the others.
const MESSAGE_LINES: usize = 8;

/// Each uncaught error, at the place that Node names, else at the first of its frames that is the work's own.
pub(super) fn node(output: &Output<'_>) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    let mut head: Option<(usize, Place<'_>)> = None;
    for (at, line) in output.lines.iter().enumerate() {
        if let Some(place) = bare_place(line) {
            head = Some((at, place));
        } else if is_exception(line) {
            let after = output.lines.get(at + 1..).unwrap_or_default();
            let head = head.take().filter(|(from, _)| at - from <= HEAD_LINES).map(|(_, place)| place);
            // Other languages have exceptions, too; only these have such a head or such frames.
            if head.is_none() && !after.iter().take(MESSAGE_LINES).any(|line| is_frame(line)) {
                continue;
            }
            let message = message(line, after);
            let importer = line.rsplit_once(" imported from ").map(|(_, path)| of_file(path.trim_end()));
            let frames = after.iter().map_while(|line| place_behind(line)).flatten();
            let own = head.into_iter().chain(importer).chain(frames);
            found.extend(own.filter(is_own).find_map(|place| output.found(Tool::Node, &place, &message)));
        }
    }
    found
}

/// `/srv/a.js:3`, `file:///srv/a.mjs:3`, `node:assert:90`, with nothing else on their line.
fn bare_place(line: &str) -> Option<Place<'_>> {
    let named = line.strip_prefix("file://").unwrap_or(line);
    let place = place(named).filter(|place| place.rest.is_empty())?;
    let is_one = place.path.starts_with('/') || place.path.starts_with("node:");
    is_one.then_some(place)
}

const fn of_file(path: &str) -> Place<'_> {
    Place { path, line: None, column: None, rest: "" }
}

fn is_own(place: &Place<'_>) -> bool {
    !place.path.starts_with("node:") && !place.path.split('/').any(|part| part == "node_modules")
}

/// Ends at the first line that can be no part of an error: `Some(None)` is one that names no place.
fn place_behind(line: &str) -> Option<Option<Place<'_>>> {
    if line.starts_with("Node.js v") {
        return None;
    }
    if let Some(path) = line.strip_prefix("- ").filter(|path| path.starts_with('/')) {
        // What required a module that is not there.
        return Some(Some(of_file(path)));
    }
    if !is_frame(line) {
        return Some(None);
    }
    let frame = line.trim_start().trim_start_matches("at ");
    let frame = frame.rsplit_once('(').map_or(frame, |(_, inner)| inner);
    let frame = frame.split(')').next().unwrap_or_default();
    let frame = frame.strip_prefix("async ").unwrap_or(frame);
    Some(place(frame.strip_prefix("file://").unwrap_or(frame)))
}

fn is_frame(line: &str) -> bool {
    line.starts_with(' ') && line.trim_start().starts_with("at ")
}

/// An error's first line, with those that it announces.
fn message(first: &str, after: &[&str]) -> String {
    let mut message = first.to_owned();
    if !first.ends_with(':') {
        return message;
    }
    let more = after.iter().take_while(|line| !is_frame(line) && !line.starts_with("Node.js v"));
    for line in more.map(|line| line.trim()).filter(|line| !line.is_empty()).take(MESSAGE_LINES) {
        message.push(' ');
        message.push_str(line);
    }
    message.chars().take(MAX_MESSAGE).collect()
}
