//! When two failures are the same: the same check of the same subject with the same first complaint, apart from
//! what differs between two runs of the same thing (times, durations, addresses, temporary paths, line numbers).

use super::{CheckResult, CommandCheck};
use crate::diagnostic::{diagnostics, without_escapes};

/// The longest complaint that is looked at, in characters.
const MAX_COMPLAINT: usize = 300;
/// Where systems keep what is temporary.
const TEMPORARY: [&str; 6] =
    ["/tmp/", "/var/tmp/", "/private/tmp/", "/var/folders/", "/private/var/folders/", "/dev/shm/"];
/// Units of durations that may stand apart from their number, the longer before those that begin like them.
const UNITS: [&str; 19] = [
    "nanoseconds",
    "microseconds",
    "milliseconds",
    "millis",
    "seconds",
    "second",
    "secs",
    "sec",
    "minutes",
    "minute",
    "mins",
    "min",
    "hours",
    "hour",
    "ms",
    "µs",
    "us",
    "ns",
    "s",
];
/// Those that only stand at their number.
const SHORT_UNITS: [&str; 3] = ["m", "h", "d"];

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
    /// What a parser takes for an error, else the first line that says something.
    #[must_use]
    pub fn first(&self) -> Option<String> {
        let streams = [self.stderr, self.stdout];
        let parsed = streams.iter().find_map(|stream| {
            let found = diagnostics(stream, self.cwd).into_iter().next()?;
            Some(format!("{}: {}", found.path, found.message))
        });
        let line = || {
            streams.iter().find_map(|stream| {
                let plain = without_escapes(stream);
                let line = plain.lines().map(str::trim).find(|line| !line.is_empty())?;
                Some(line.to_owned())
            })
        };
        parsed.or_else(line)
    }
}

/// What a failed check is called when it is compared with others.
#[must_use]
pub fn identity(result: &CheckResult, cwd: &str) -> String {
    let complaint = match result {
        CheckResult::Command(command) => complaint_of(command, cwd),
        CheckResult::CwdCheck(check) => check.error.clone(),
        CheckResult::FileCheck(check) => check.error.clone().unwrap_or_default(),
        CheckResult::SyntaxCheck(check) => check.error.clone().unwrap_or_default(),
        CheckResult::ContractCheck(check) if check.missing.is_empty() => {
            check.reason.clone().unwrap_or_default()
        }
        CheckResult::ContractCheck(check) => check.missing.join(", "),
    };
    format!("{} {}: {}", result.kind(), result.subject(), compared(&complaint, cwd))
}

/// A complaint as it is compared with others: short, without the folder it was made in, and [`normalised`].
pub(super) fn compared(complaint: &str, cwd: &str) -> String {
    let here = format!("{}/", cwd.trim_end_matches('/'));
    let relative = if here == "/" { complaint.to_owned() } else { complaint.replace(&here, "") };
    let text = normalised(&relative);
    text.chars().take(MAX_COMPLAINT).collect()
}

fn complaint_of(command: &CommandCheck, cwd: &str) -> String {
    let said = Diagnosed { stderr: &command.stderr, stdout: &command.stdout, cwd }.first();
    said.unwrap_or_else(|| match (command.timed_out, command.exit_code, command.signal) {
        (true, ..) => "ran out of time".to_owned(),
        (false, Some(code), _) => format!("exit code {code}"),
        (false, None, Some(signal)) => format!("signal {signal}"),
        (false, None, None) => "could not be run".to_owned(),
    })
}

/// A text without what differs between two runs of the same thing.
#[must_use]
pub fn normalised(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let mut before: Option<char> = None;
    while let Some(next) = rest.chars().next() {
        let (said, length) = match variable(rest, before) {
            Some((name, length)) => (name, length),
            None => ("", next.len_utf8()),
        };
        let (taken, left) = rest.split_at(length);
        out.push_str(if said.is_empty() { taken } else { said });
        before = taken.chars().last();
        rest = left;
    }
    out
}

/// How many bytes at a text's beginning are of a kind; none when it begins otherwise.
type Rule = fn(&str) -> Option<usize>;

/// What a text begins with that differs between runs: what stands for it, and how many bytes it has.
fn variable(text: &str, before: Option<char>) -> Option<(&'static str, usize)> {
    let after_word = before.is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | '.'));
    let behind_place = || before.is_some_and(|c| !c.is_whitespace());
    if behind_place()
        && let Some(length) = line_and_column(text)
    {
        return Some((":<line>", length));
    }
    if behind_place()
        && let Some(length) = bracketed_place(text)
    {
        return Some(("(<line>)", length));
    }
    if after_word {
        return None;
    }
    let rules: [(&'static str, Rule); 5] = [
        ("<temp>", temporary_path),
        ("<address>", address),
        ("<time>", time),
        ("<duration>", duration),
        ("line <line>", line_by_name),
    ];
    rules
        .iter()
        .find_map(|(name, rule)| rule(text).filter(|length| *length > 0).map(|length| (*name, length)))
}

fn digits(text: &str) -> usize {
    text.bytes().take_while(u8::is_ascii_digit).count()
}

/// Exactly so many digits, and what follows them.
fn exactly(text: &str, count: usize) -> Option<&str> {
    (digits(text) == count).then(|| text.get(count..)).flatten()
}

/// `:12`, `:12:5`.
fn line_and_column(text: &str) -> Option<usize> {
    let mut length = 0;
    while let Some(rest) = text.get(length..).and_then(|rest| rest.strip_prefix(':')) {
        let count = digits(rest);
        if count == 0 {
            break;
        }
        length += 1 + count;
    }
    let ends = !text.get(length..)?.starts_with(|c: char| c.is_alphanumeric() || c == '.');
    (length > 0 && ends).then_some(length)
}

/// `(12,5)`, `(12)`, behind the name of a file.
fn bracketed_place(text: &str) -> Option<usize> {
    let inner = text.strip_prefix('(')?;
    let first = digits(inner);
    let rest = inner.get(first..)?;
    let second = match rest.strip_prefix(',') {
        Some(rest) => 1 + digits(rest),
        None => 0,
    };
    let closed = inner.get(first + second..)?.starts_with(')');
    (first > 0 && second != 1 && closed).then_some(first + second + 2)
}

/// `line 12`, `Line: 12`, with or without its column.
fn line_by_name(text: &str) -> Option<usize> {
    let named = |text: &str, name: &str| {
        let head = text.get(..name.len())?;
        let rest = text.get(name.len()..).filter(|_| head.eq_ignore_ascii_case(name))?;
        let gap = rest.bytes().take_while(|byte| matches!(byte, b' ' | b':')).count();
        let count = digits(rest.get(gap..)?);
        (gap > 0 && count > 0).then_some(name.len() + gap + count)
    };
    let line = named(text, "line")?;
    let rest = text.get(line..)?;
    let gap = rest.bytes().take_while(|byte| matches!(byte, b' ' | b',')).count();
    let column = rest.get(gap..).and_then(|rest| named(rest, "column").or_else(|| named(rest, "col")));
    Some(column.map_or(line, |column| line + gap + column))
}

fn temporary_path(text: &str) -> Option<usize> {
    TEMPORARY.iter().find(|root| text.starts_with(**root))?;
    let ends = |c: char| c.is_whitespace() || "\"'`()[]<>,;:".contains(c);
    Some(text.find(ends).unwrap_or(text.len()))
}

/// `0x7ffd1234`; what is shorter is a number that somebody wrote.
fn address(text: &str) -> Option<usize> {
    let count = text.strip_prefix("0x")?.bytes().take_while(u8::is_ascii_hexdigit).count();
    (count >= 6).then_some(2 + count)
}

/// `2026-01-31`, `2026-01-31T12:30:00.5Z`, `12:30:00`.
fn time(text: &str) -> Option<usize> {
    let date = exactly(text, 4)
        .and_then(|rest| exactly(rest.strip_prefix('-')?, 2))
        .and_then(|rest| exactly(rest.strip_prefix('-')?, 2));
    let Some(rest) = date else { return clock(text) };
    let length = text.len() - rest.len();
    let of_day = rest.strip_prefix(['T', ' ', '_']).and_then(clock);
    Some(of_day.map_or(length, |clock| length + 1 + clock))
}

/// `12:30:00`, `12:30:00,123`, with what says where.
fn clock(text: &str) -> Option<usize> {
    let hours = digits(text);
    let rest = text.get(hours..).filter(|_| (1..=2).contains(&hours))?;
    let rest = exactly(rest.strip_prefix(':')?, 2)?;
    let mut rest = exactly(rest.strip_prefix(':')?, 2)?;
    if let Some(fraction) = rest.strip_prefix(['.', ',']).filter(|fraction| digits(fraction) > 0) {
        rest = fraction.get(digits(fraction)..)?;
    }
    if let Some(zone) = rest.strip_prefix('Z') {
        rest = zone;
    } else if let Some(zone) = rest.strip_prefix(['+', '-']).filter(|zone| matches!(digits(zone), 2 | 4)) {
        rest = zone.get(digits(zone)..)?;
        rest = rest.strip_prefix(':').and_then(|minutes| exactly(minutes, 2)).unwrap_or(rest);
    }
    Some(text.len() - rest.len())
}

/// `0.12s`, `3 ms`, `1m 20s`.
fn duration(text: &str) -> Option<usize> {
    let mut length = 0;
    loop {
        let part = text.get(length..)?;
        let gap = usize::from(length > 0 && part.starts_with(' '));
        let Some(one) = part.get(gap..).and_then(one_duration) else { break };
        length += gap + one;
    }
    let ends = !text.get(length..)?.starts_with(|c: char| c.is_alphanumeric() || c == '_');
    (length > 0 && ends).then_some(length)
}

fn one_duration(text: &str) -> Option<usize> {
    let whole = digits(text);
    let mut number = whole;
    if let Some(fraction) = text.get(whole..)?.strip_prefix('.').filter(|rest| digits(rest) > 0) {
        number += 1 + digits(fraction);
    }
    let rest = text.get(number..).filter(|_| whole > 0)?;
    let ends = |rest: &str| !rest.starts_with(|c: char| c.is_alphabetic() || c == '_');
    let unit = |rest: &str, units: &[&str]| {
        let fits = |unit: &&&str| rest.strip_prefix(**unit).is_some_and(ends);
        units.iter().find(fits).map(|unit| unit.len())
    };
    if let Some(length) = unit(rest, &UNITS).or_else(|| unit(rest, &SHORT_UNITS)) {
        return Some(number + length);
    }
    unit(rest.strip_prefix(' ')?, &UNITS).map(|length| number + 1 + length)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_differs_between_runs_is_left_out() {
        for (text, expected) in [
            ("src/a.rs:12:5: expected `;`", "src/a.rs:<line>: expected `;`"),
            ("src/a.ts(3,14): error TS2322", "src/a.ts(<line>): error TS2322"),
            ("File \"a.py\", line 41, in f", "File \"a.py\", line <line>, in f"),
            ("at Line 3, column 9", "at line <line>"),
            ("1 failed in 0.12s", "1 failed in <duration>"),
            ("took 1m 20s, 3 ms and 2.5 seconds", "took <duration>, <duration> and <duration>"),
            ("<object at 0x7f3a1c00>, flag 0x1F", "<object at <address>>, flag 0x1F"),
            ("2026-01-31T12:30:00.123Z refused", "<time> refused"),
            ("[12:30:01,5] [2026-01-31 08:00:00+01:00]", "[<time>] [<time>]"),
            ("cannot open '/tmp/tmp.Ab12/x.js'", "cannot open '<temp>'"),
            ("3 tests, 2 modules, exit code 4", "3 tests, 2 modules, exit code 4"),
            ("expected 12, got 13", "expected 12, got 13"),
            ("v1.5s sha256s utf8", "v1.5s sha256s utf8"),
        ] {
            assert_eq!(normalised(text), expected);
        }
    }

    fn command(stderr: &str, stdout: &str, exit_code: Option<i32>) -> CheckResult {
        CheckResult::Command(CommandCheck {
            passed: false,
            command: "make".to_owned(),
            exit_code,
            signal: None,
            timed_out: false,
            stdout: stdout.to_owned(),
            stderr: stderr.to_owned(),
            duration_ms: 7,
        })
    }

    #[test]
    fn the_first_complaint_is_the_one_that_a_parser_knows() {
        for (stderr, stdout, expected) in [
            (
                "warming up\nerror[E0308]: mismatched types\n --> src/a.rs:3:5\n",
                "",
                "command make: src/a.rs: error[E0308]: mismatched types",
            ),
            ("npm notice\n", "src/a.js:3:1: no\n", "command make: src/a.js: no"),
            ("\n\u{1b}[31mfirst\u{1b}[0m words\nmore", "other", "command make: first words"),
            ("", "\n  only this  \n", "command make: only this"),
            ("", "", "command make: exit code 2"),
        ] {
            assert_eq!(identity(&command(stderr, stdout, Some(2)), "/srv/x"), expected);
        }
    }

    #[test]
    fn the_folder_is_no_part_of_a_failure() {
        let of = |cwd: &str| identity(&command(&format!("missing {cwd}/a"), "", None), cwd);
        assert_eq!(of("/srv/one"), of("/home/two"));
    }

    proptest! {
        #[test]
        fn normalising_twice_changes_nothing(text in "[a-z0-9:.,() /<>-]{0,40}|\\PC{0,40}") {
            let once = normalised(&text);
            prop_assert_eq!(normalised(&once), once);
        }

        #[test]
        fn where_and_when_it_fails_says_nothing(line in 1u32..9999, ms in 0u32..99999, at in 0u64..u64::MAX) {
            let say = |line: u32, ms: u32, at: u64| {
                normalised(&format!("a.js:{line}:1 died at {at:#018x} after {ms}ms, line {line}"))
            };
            prop_assert_eq!(say(line, ms, at), say(1, 2, 3));
        }
    }
}
