//! What a failing command complains about, read from what it printed.
//!
//! A table of small readers, one per test runner, and the diagnostics of compilers and of programs that died; without
//! any of those every line that says error, then the first line that says anything. Invariants: a runner's heading is
//! never taken for a diagnosis while there is another line; the order of diagnoses says nothing, since runners that
//! work in parallel print them in any order; a diagnosis that is told twice of one place is one, and the same
//! diagnosis of two places is two.

mod compiled;
mod failure;
mod javascript;
mod lines;
mod python;

use std::{collections::BTreeSet, fmt::Write as _};

use crate::{
    compared::compared,
    diagnostic::{Diagnostic, generic_diagnostics, tool_diagnostics, without_escapes},
    normalised::normalised,
};
use failure::Failure;

/// How many diagnoses of one command are compared one by one; of more, their number counts, too.
const MAX_DIAGNOSES: usize = 200;
/// How many diagnoses are spelled out; more are told by their number and a digest of all.
const SPELLED_OUT: usize = 3;

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

/// How a command failed, and what it printed.
#[derive(Debug, Clone, Copy)]
pub struct FailedCommand<'t> {
    /// The standard error, looked at first.
    pub stderr: &'t str,
    /// The standard output.
    pub stdout: &'t str,
    /// The folder that it ran in.
    pub cwd: &'t str,
    /// Whether it timed out.
    pub timed_out: bool,
    /// What it exited with; none when a signal ended it, or it could not be run.
    pub exit_code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
}

impl FailedCommand<'_> {
    /// Everything that the command complains about, without what differs between two runs: two commands that give
    /// the same text fail alike.
    #[must_use]
    pub fn diagnoses(&self) -> String {
        let plain = [self.stderr, self.stdout].map(|text| without_cut_lines(&without_escapes(text)));
        let streams = plain.each_ref().map(|text| text.lines().collect::<Vec<&str>>());
        let mut found = self.of_known_tools(&plain, &streams);
        if found.is_empty() {
            found = self.of_lines(&plain, &streams);
        }
        if self.timed_out {
            found.push("ran out of time".to_owned());
        }
        if found.is_empty() {
            found.extend(first_line(&streams));
        }
        if found.is_empty() {
            found.push(match (self.exit_code, self.signal) {
                (Some(code), _) => format!("exit code {code}"),
                (None, Some(signal)) => format!("signal {signal}"),
                (None, None) => "could not be run".to_owned(),
            });
        }
        listed(found.iter().map(|diagnosis| compared(diagnosis, self.cwd)))
    }

    /// Failing tests, and the diagnostics that are not what a test says.
    fn of_known_tools(&self, plain: &[String; 2], streams: &[Vec<&str>; 2]) -> Vec<String> {
        let tests: Vec<Failure> = streams.iter().flat_map(|lines| failing_tests(lines)).collect();
        let is_told = |diagnostic: &Diagnostic| {
            let message = normalised(&diagnostic.message);
            tests.iter().any(|test| {
                !test.why.is_empty() && (test.why.contains(&message) || message.contains(&test.why))
            })
        };
        let diagnostics = plain.iter().flat_map(|text| tool_diagnostics(text, self.cwd));
        let others = of_places(diagnostics.filter(|diagnostic| !is_told(diagnostic)));
        tests.into_iter().map(Failure::into_diagnosis).chain(others).collect()
    }

    /// Places that a tool nobody knows complains about, and lines that say of themselves that they are errors.
    fn of_lines(&self, plain: &[String; 2], streams: &[Vec<&str>; 2]) -> Vec<String> {
        let mut found = of_places(plain.iter().flat_map(|text| generic_diagnostics(text, self.cwd)));
        let errors = streams.iter().flatten().filter_map(|line| lines::error(line.trim()));
        let is_told = |line: &str| {
            found.iter().any(|it| it.split_once(": ").is_some_and(|(_, message)| line.ends_with(message)))
        };
        let errors: Vec<String> = errors.filter(|line| !is_told(line)).map(str::to_owned).collect();
        found.extend(errors);
        found
    }
}

/// Diagnoses with their files; one that is told twice of one place is there once.
fn of_places(diagnostics: impl Iterator<Item = Diagnostic>) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    for it in diagnostics.filter(|it| !it.message.is_empty()) {
        let diagnosis = format!("{}: {}", it.path, it.message);
        if seen.insert((it.path, it.line, it.column, it.message)) {
            found.push(diagnosis);
        }
    }
    found
}

/// The first line that says anything.
fn first_line(streams: &[Vec<&str>; 2]) -> Option<String> {
    let first =
        |reads: fn(&str) -> Option<&str>| streams.iter().flatten().find_map(|line| reads(line.trim()));
    first(lines::telling).or_else(|| first(|line| (!line.is_empty()).then_some(line))).map(str::to_owned)
}

/// A text without the lines that a cut in its middle went through, and without the mark of the cut: how much of them
/// is left depends on the length of every line before.
fn without_cut_lines(text: &str) -> String {
    let is_mark = |line: &str| line.starts_with("[... ") && line.ends_with(" bytes left out ...]");
    let lines: Vec<&str> = text.lines().collect();
    let is_cut = |at: usize| {
        let near = at.saturating_sub(1)..=at + 1;
        near.into_iter().any(|at| lines.get(at).is_some_and(|line| is_mark(line)))
    };
    let kept = lines.iter().enumerate().filter(|(at, _)| !is_cut(*at));
    kept.map(|(_, line)| *line).collect::<Vec<&str>>().join("\n")
}

/// The tests that fail, each once.
fn failing_tests(lines: &[&str]) -> Vec<Failure> {
    let mut failing: Vec<Failure> = READERS.iter().flat_map(|read| read(lines)).collect();
    for failure in &mut failing {
        failure.what = normalised(&failure.what);
        failure.why = normalised(&failure.why);
    }
    failing.sort();
    // Runners tell of a failure where it happens and once more at their end.
    failing.dedup_by(|later, first| {
        later.what == first.what && (first.why.is_empty() || later.why == first.why)
    });
    failing
}

/// Diagnoses as one text, in order. A few are spelled out; of more, a digest tells them from others.
pub(crate) fn listed(diagnoses: impl Iterator<Item = String>) -> String {
    let mut diagnoses: Vec<String> = diagnoses.collect();
    let count = diagnoses.len();
    diagnoses.truncate(MAX_DIAGNOSES);
    diagnoses.sort();
    let mut text = diagnoses.iter().take(SPELLED_OUT).cloned().collect::<Vec<_>>().join("; ");
    if count > SPELLED_OUT {
        let digest = digest(&diagnoses);
        let _ = write!(text, "; and {} more ({digest:016x})", count - SPELLED_OUT);
    }
    text
}

/// FNV-1a: attempts are compared across versions and machines, and nobody gains by a collision.
fn digest(texts: &[String]) -> u64 {
    let bytes = texts.iter().flat_map(|text| text.bytes().chain([0]));
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn diagnoses(stderr: &str, stdout: &str) -> String {
        let cwd = "/srv/x";
        FailedCommand { stderr, stdout, cwd, timed_out: false, exit_code: Some(2), signal: None }.diagnoses()
    }

    #[test]
    fn tools_that_nothing_is_known_of_are_read_by_their_words() {
        for (stderr, stdout, expected) in [
            ("", "\n/elsewhere/a.js\n  1:7  error  'x' is bad  no-x\n", "'x' is bad  no-x"),
            ("", "begun\nall is well\nERROR: out of paper\n", "ERROR: out of paper"),
            ("", "ERROR: out of paper\nERROR: out of ink\n", "ERROR: out of ink; ERROR: out of paper"),
            ("make: *** [all] Error 1\n", "> x\nout of paper\n", "out of paper"),
            ("", "12 passed, 3 failed\n", "12 passed, 3 failed"),
            ("", "[INFO] begun\n[ERROR] ATest.b:12 expected\n", "[ERROR] ATest.b:<line> expected"),
            ("TAP version 13\n", "", "TAP version 13"),
            (
                "Traceback (most recent call last):\n  File \"/usr/a.py\", line 3, in f\nValueError: no\n",
                "",
                "ValueError: no",
            ),
            ("\n", " ", "exit code 2"),
        ] {
            assert_eq!(diagnoses(stderr, stdout), expected);
        }
    }

    #[test]
    fn the_order_in_which_tests_fail_makes_no_difference() {
        let failing = |one: &str, two: &str| {
            diagnoses("", &format!("not ok 1 - {one}\nnot ok 2 - {two}\nnot ok 3 - x # todo\n"))
        };
        assert_eq!(failing("b (3 ms)", "a"), failing("a", "b (7 ms)"));
        assert_eq!(failing("b", "a"), "a; b");
        assert_eq!(failing("a", "a"), "a; a again", "two tests of one name");
    }

    #[test]
    fn fewer_errors_of_a_compiler_are_another_failure() {
        let tsc = |lines: &[u32]| {
            let each = |line: &u32| format!("src/a.ts({line},5): error TS2304: Cannot find name 'x'.\n");
            diagnoses("", &lines.iter().map(each).collect::<String>())
        };
        assert_eq!(tsc(&[3, 7, 9]), tsc(&[4, 8, 12]), "they only moved");
        assert_ne!(tsc(&[3, 7, 9]), tsc(&[3, 7]));
        assert_eq!(tsc(&[3, 7, 7]), tsc(&[3, 7]), "one that is told twice is one");
        assert_eq!(tsc(&[3]), "src/a.ts: TS2304: Cannot find name 'x'.");
    }

    #[test]
    fn another_test_that_fails_beside_the_same_one_is_another_failure() {
        let pytest = |tests: &[&str]| {
            let each = |name: &&str| format!("FAILED test_t.py::test_{name} - assert 1 == 2\n");
            diagnoses("", &tests.iter().map(each).collect::<String>())
        };
        assert_ne!(pytest(&["a", "b"]), pytest(&["a", "c"]));
        assert_ne!(pytest(&["a", "b"]), pytest(&["a"]));
        assert_eq!(pytest(&["a", "b"]), pytest(&["b", "a"]));
    }

    #[test]
    fn what_two_tools_complain_about_counts_together() {
        let both = |of_tsc: &str, of_eslint: &str| {
            diagnoses(
                "",
                &format!(
                    "src/a.ts(1,1): error TS1: {of_tsc}\n\n/srv/x/b.js\n  1:7  error  {of_eslint}  no-x\n"
                ),
            )
        };
        assert_ne!(both("one", "two"), both("one", "three"));
        assert_ne!(both("one", "two"), both("three", "two"));
    }

    #[test]
    fn many_diagnoses_are_told_by_number_and_digest() {
        let errors = |range: std::ops::Range<u32>| {
            diagnoses("", &range.map(|n| format!("ERROR: e{n} is wrong\n")).collect::<String>())
        };
        let all = errors(0..10);
        assert!(
            all.starts_with("ERROR: e0 is wrong; ERROR: e1 is wrong; ERROR: e2 is wrong; and 7 more ("),
            "{all}"
        );
        assert_ne!(all, errors(0..9));
        assert_ne!(errors(0..300), errors(0..299), "also of those that are too many to compare");
        assert_eq!(errors(0..300), errors(0..300));
    }

    #[test]
    fn a_time_out_is_a_complaint_of_its_own() {
        let failed = |stdout, timed_out, exit_code| {
            FailedCommand { stderr: "", stdout, cwd: "/", timed_out, exit_code, signal: None }.diagnoses()
        };
        assert_eq!(failed("begun\n", true, None), "ran out of time");
        assert_eq!(failed("Error: no\n", true, None), "Error: no; ran out of time");
        assert_eq!(failed("begun\n", false, Some(1)), "begun");
    }

    #[test]
    fn lines_that_a_cut_went_through_say_nothing() {
        let text = |cut: &str| {
            format!("ERROR: one\nERR{cut}\n[... 77 bytes left out ...]\nOR: three\nERROR: four\n")
        };
        assert_eq!(diagnoses("", &text("")), "ERROR: four; ERROR: one");
        assert_eq!(diagnoses("", &text("OR: tw")), diagnoses("", &text("")));
    }

    proptest! {
        #[test]
        fn any_output_is_read_without_a_panic(
            stderr in output(), stdout in output(), timed_out in any::<bool>(), exit_code in any::<Option<i32>>(),
        ) {
            let failed = FailedCommand { stderr: &stderr, stdout: &stdout, cwd: "/srv/x", timed_out, exit_code, signal: None };
            let diagnoses = failed.diagnoses();
            prop_assert!(!diagnoses.is_empty());
            prop_assert_eq!(failed.diagnoses(), diagnoses);
        }

        #[test]
        fn errors_are_alike_in_any_order_and_never_when_one_is_gone(
            mut names in prop::collection::btree_set("[a-z]{1,8}", 2..260).prop_map(Vec::from_iter),
            tool in prop::sample::select(vec![
                "src/NAME.ts(3,5): error TS1: it is wrong",
                "src/a.rs:3:5: error: NAME is wrong",
                "./a.go:3:5: NAME is wrong",
                "FAILED test_t.py::test_NAME - assert 1 == 2",
                "not ok 1 - NAME",
                "test NAME ... FAILED",
                "ERROR: NAME is wrong",
                "odd.xyz:3: NAME is wrong",
            ]),
            gone in any::<prop::sample::Index>(),
        ) {
            let say = |names: &[String]| {
                diagnoses("", &names.iter().map(|name| tool.replace("NAME", name) + "\n").collect::<String>())
            };
            let all = say(&names);
            names.reverse();
            if names.len() <= MAX_DIAGNOSES {
                prop_assert_eq!(&say(&names), &all);
            }
            names.remove(gone.index(names.len()));
            prop_assert_ne!(say(&names), all);
        }
    }

    /// Output with lines that readers look for.
    fn output() -> impl Strategy<Value = String> {
        let line = prop::sample::select(vec![
            "not ok 1 - a",
            "  ---",
            "  error: |-",
            "  ...",
            "✖ failing tests:",
            "✖ a (1ms)",
            "FAIL ./a.js (1 s)",
            "  ● a › b",
            "    Details:",
            " FAIL  a.ts > b",
            "  2 failing",
            "  1) a",
            "     b:",
            "____ test_a ____",
            "E   assert 1",
            "a.py:3: AssertionError",
            "==== 1 failed ====",
            "FAILED a.py::b - c",
            "======",
            "FAIL: a (b)",
            "------",
            "---- a stdout ----",
            "failures:",
            "thread 'a' panicked at a.rs:1:2:",
            "thread 'a' (7) panicked at ",
            "test a ... FAILED",
            "FAIL [   0.3s] (1/2) a b",
            "--- FAIL: A (0.0s)",
            "    a.go:3: b",
            "panic: a",
            "\ta.go:3 +0x1",
            "error[E1]: a",
            " --> a.rs:1:2",
            "a.ts(1,2): error TS1: b",
            "/srv/x/a.js",
            "  1:2  error  a  b",
            "Traceback (most recent call last):",
            "  File \"a.py\", line 3, in b",
            "ValueError: a",
            "/srv/x/a.js:3",
            "    at a (/srv/x/a.js:1:2)",
            "Node.js v20",
            "npm ERR! a",
            "[... 7 bytes left out ...]",
            "\u{1b}[31mred\u{1b}[0m",
            "ERROR: a",
            "make: *** [a] Error 1",
            "",
        ]);
        let line = prop_oneof![6 => line.prop_map(str::to_owned), 1 => any::<String>()];
        prop::collection::vec(line, 0..30).prop_map(|lines| lines.join("\n"))
    }
}
