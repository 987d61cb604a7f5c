//! pytest and unittest.

use super::failure::{Failure, MESSAGE_LINES};
use crate::diagnostic::{is_exception, place};

/// Sections `____ test_b ____` with what was raised in them; without them, the short summary.
pub(super) fn pytest(lines: &[&str]) -> Vec<Failure> {
    let mut found = Vec::new();
    let mut section: Option<(&str, Vec<&str>)> = None;
    let mut file = "";
    for (at, line) in lines.iter().enumerate() {
        if let Some(name) = between(line, '_').filter(|name| !name.starts_with('_')) {
            found.extend(section.take().map(|section| of_section(section, file)));
            section = Some((name, Vec::new()));
            file = "";
        } else if line.starts_with("====") || line.starts_with("!!!!") {
            found.extend(section.take().map(|section| of_section(section, file)));
        } else if let Some((_, why)) = &mut section {
            if let Some(raised) = line.strip_prefix("E  ") {
                why.push(raised);
            } else if let Some(at) = place(line).filter(|at| at.path.ends_with(".py")) {
                // Those of libraries have their whole path.
                file = if at.path.starts_with('/') { file } else { at.path };
            } else if is_exception(line) && at > 0 && lines.get(at - 1).is_some_and(|it| it.starts_with(' '))
            {
                // The native form has its traceback as Python prints it.
                why.push(line);
            }
        }
    }
    found.extend(section.map(|section| of_section(section, file)));
    if found.is_empty() { summary(lines) } else { found }
}

fn of_section((name, why): (&str, Vec<&str>), file: &str) -> Failure {
    let what =
        if file.is_empty() || name.contains(file) { name.to_owned() } else { format!("{file} {name}") };
    Failure::new(&what, why)
}

/// `FAILED a.py::test_b - KeyError: 1`, in a run that ends with what pytest counts.
fn summary(lines: &[&str]) -> Vec<Failure> {
    let each = |line: &&str| {
        let said = line.strip_prefix("FAILED ").or_else(|| line.strip_prefix("ERROR "))?;
        let (what, why) = said.split_once(" - ").unwrap_or((said, ""));
        let is_named = what.contains(".py") && !what.contains(' ');
        is_named.then(|| Failure::new(what, [why]))
    };
    lines.iter().filter_map(each).collect()
}

/// What stands between rows of a mark.
fn between(line: &str, mark: char) -> Option<&str> {
    let inner = line.trim_matches(mark);
    let drawn = line.len() - inner.len();
    let name = inner.strip_prefix(' ')?.strip_suffix(' ')?;
    (drawn >= 4 && line.starts_with(mark) && line.ends_with(mark)).then_some(name)
}

/// `FAIL: test_b (test_x.T.test_b)` with its traceback below.
pub(super) fn unittest(lines: &[&str]) -> Vec<Failure> {
    let mut found = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let named = line.strip_prefix("FAIL: ").or_else(|| line.strip_prefix("ERROR: "));
        let headed = at > 0 && lines.get(at - 1).is_some_and(|it| it.starts_with("====="));
        let Some(name) = named.filter(|_| headed) else { continue };
        let body = lines.iter().skip(at + 2).take_while(|line| !line.starts_with("====="));
        let body: Vec<&str> = body.copied().take_while(|line| !line.starts_with("-----")).collect();
        // What was raised last stands below the last frame.
        let last = body.iter().rposition(|line| is_exception(line)).unwrap_or(0);
        found.push(Failure::new(name, body.into_iter().skip(last).take(MESSAGE_LINES)));
    }
    found
}
