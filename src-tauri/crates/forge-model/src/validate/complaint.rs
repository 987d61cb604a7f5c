//! What a failing command complains about first, read from what it printed.
//!
//! A table of small readers, one per test runner, then the diagnostics of compilers and programs that died, then a line
//! that says error, then the first one that says anything. Invariants: a runner's heading is never taken for a
//! complaint while there is another line; of several failing tests the first by name stands for all of them with
//! their number, since runners that work in parallel print them in any order.

mod compiled;
mod javascript;
mod lines;
mod python;

use super::normalised::normalised;
use crate::diagnostic::{diagnostics, without_escapes};

/// How many lines of one failure are looked at.
const MESSAGE_LINES: usize = 8;

/// A test that failed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Failure {
    /// Its name, with its file where runners say it.
    what: String,
    /// What it says; may be empty.
    why: String,
}

impl Failure {
    fn new<'l>(what: &str, why: impl IntoIterator<Item = &'l str>) -> Self {
        let lines = why.into_iter().map(str::trim).filter(|line| !line.is_empty());
        let why: Vec<&str> = lines.take(MESSAGE_LINES).collect();
        Self { what: what.trim().to_owned(), why: why.join(" ") }
    }
}

/// Reads the failing tests that one runner reports.
type Reader = fn(&[&str]) -> Vec<Failure>;

const READERS: [Reader; 9] = [
    javascript::tap,
    javascript::node_spec,
    javascript::jest,
    javascript::vitest,
    javascript::mocha,
    python::pytest,
    python::unittest,
    compiled::rust,
    compiled::go,
];

/// Output in which a first complaint is looked for.
#[derive(Debug, Clone, Copy)]
pub struct Diagnosed<'t> {
    /// The standard error, looked at first.
    pub stderr: &'t str,
    /// The standard output.
    pub stdout: &'t str,
    /// The folder that it was printed in.
    pub cwd: &'t str,
}

impl Diagnosed<'_> {
    /// What fails first; none when nothing is said at all.
    #[must_use]
    pub fn first(&self) -> Option<String> {
        let plain = [self.stderr, self.stdout].map(without_escapes);
        let streams = plain.each_ref().map(|text| text.lines().collect::<Vec<&str>>());
        let tests = || streams.iter().find_map(|lines| failing_tests(lines));
        let places = || {
            plain.iter().find_map(|text| {
                let found = diagnostics(text, self.cwd).into_iter().find(|it| !it.message.is_empty())?;
                Some(format!("{}: {}", found.path, found.message))
            })
        };
        let line = |reads: fn(&str) -> Option<&str>| {
            streams.iter().flatten().find_map(|line| reads(line.trim())).map(str::to_owned)
        };
        tests()
            .or_else(places)
            .or_else(|| line(lines::error))
            .or_else(|| line(lines::telling))
            .or_else(|| line(|line| (!line.is_empty()).then_some(line)))
    }
}

/// The first failing test by name, with how many others there are.
fn failing_tests(lines: &[&str]) -> Option<String> {
    let mut failing = READERS.iter().map(|read| read(lines)).find(|found| !found.is_empty())?;
    for failure in &mut failing {
        failure.what = normalised(&failure.what);
        failure.why = normalised(&failure.why);
    }
    failing.sort();
    // Runners tell of a failure where it happens and once more at their end.
    failing.dedup_by(|later, first| {
        later.what == first.what && (first.why.is_empty() || later.why == first.why)
    });
    let more = match failing.len() - 1 {
        0 => String::new(),
        more => format!(" (and {more} more)"),
    };
    let first = failing.first()?;
    let why = if first.why.is_empty() { String::new() } else { format!(": {}", first.why) };
    Some(format!("{}{more}{why}", first.what))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first(stderr: &str, stdout: &str) -> Option<String> {
        Diagnosed { stderr, stdout, cwd: "/srv/x" }.first()
    }

    #[test]
    fn tools_that_nothing_is_known_of_are_read_by_their_words() {
        for (stderr, stdout, expected) in [
            ("", "\n/elsewhere/a.js\n  1:7  error  'x' is bad  no-x\n", "'x' is bad  no-x"),
            ("", "begun\nall is well\nERROR: out of paper\n", "ERROR: out of paper"),
            ("make: *** [all] Error 1\n", "> x\nout of paper\n", "out of paper"),
            ("", "12 passed, 3 failed\n", "12 passed, 3 failed"),
            ("", "[INFO] begun\n[ERROR] ATest.b:12 expected\n", "[ERROR] ATest.b:12 expected"),
            ("TAP version 13\n", "", "TAP version 13"),
            (
                "Traceback (most recent call last):\n  File \"/usr/a.py\", line 3, in f\nValueError: no\n",
                "",
                "ValueError: no",
            ),
        ] {
            assert_eq!(first(stderr, stdout).as_deref(), Some(expected));
        }
        assert_eq!(first("\n", " "), None);
    }

    #[test]
    fn the_order_in_which_tests_fail_makes_no_difference() {
        let failing = |one: &str, two: &str| {
            first("", &format!("not ok 1 - {one}\nnot ok 2 - {two}\nnot ok 3 - x # todo\n"))
        };
        assert_eq!(failing("b (3 ms)", "a"), failing("a", "b (7 ms)"));
        assert_eq!(failing("b", "a").as_deref(), Some("a (and 1 more)"));
        assert_eq!(failing("a", "a").as_deref(), Some("a"), "one that is told twice is one");
    }
}
