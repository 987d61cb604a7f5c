//! Texts without what differs between two runs of the same thing.

mod digits;
mod moment;

use digits::digits;

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

/// A text without the parts that differ between two runs of the same command.
pub(crate) fn normalised(text: &str) -> String {
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
    if let Some(length) = process_in_brackets(text) {
        return Some(("[<pid>]", length));
    }
    if !before.is_some_and(char::is_alphanumeric) {
        if let Some(length) = uuid(text) {
            return Some(("<uuid>", length));
        }
        if let Some(length) = hash(text) {
            return Some(("<hash>", length));
        }
    }
    let rules: [(&'static str, Rule); 10] = [
        ("<temp>", temporary_path),
        ("<address>", address),
        ("<time>", moment::dated),
        ("<time>", moment::time),
        ("<time>", moment::epoch),
        ("<duration>", duration),
        ("line <line>", line_by_name),
        ("<number>", number_by_name),
        ("(<line>)", place_in_brackets),
        ("==<pid>==", process_between),
    ];
    let by_rule = || {
        rules
            .iter()
            .find_map(|(name, rule)| rule(text).filter(|length| *length > 0).map(|length| (*name, length)))
    };
    let as_number = || {
        let is_part = before.is_some_and(|c| c.is_ascii_digit() || c == '.');
        long_number(text).filter(|_| !is_part).map(|length| ("<number>", length))
    };
    if after_word { as_number() } else { by_rule().or_else(as_number) }
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

/// Words whose number differs with every run.
const NUMBERED: [&str; 7] =
    ["pid", "process id", "seed", "randomly-seed", "duration_ms", "elapsed", "process"];

/// `pid 1234`, `seed: 77`, `duration_ms=1.2`.
fn number_by_name(text: &str) -> Option<usize> {
    let each = |name: &&str| {
        let head = text.get(..name.len()).filter(|head| head.eq_ignore_ascii_case(name))?;
        let rest = text.get(head.len()..)?;
        let gap = rest.bytes().take_while(|byte| matches!(byte, b' ' | b':' | b'=' | b'#')).count();
        let number =
            rest.get(gap..)?.bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b'.').count();
        let ends = !rest.get(gap + number..)?.starts_with(char::is_alphanumeric);
        (gap > 0 && digits(rest.get(gap..)?) > 0 && ends).then_some(head.len() + gap + number)
    };
    NUMBERED.iter().find_map(each)
}

/// `(12:5)`.
fn place_in_brackets(text: &str) -> Option<usize> {
    let inner = text.strip_prefix('(')?;
    let line = digits(inner);
    let rest = inner.get(line..)?.strip_prefix(':')?;
    let column = digits(rest);
    (line > 0 && column > 0 && rest.get(column..)?.starts_with(')')).then_some(line + column + 3)
}

/// `[1234]:`, mostly behind the name of a program. Fewer digits are the number of an item.
fn process_in_brackets(text: &str) -> Option<usize> {
    let inner = text.strip_prefix('[')?;
    let count = digits(inner);
    ((3..=7).contains(&count) && inner.get(count..)?.starts_with("]:")).then_some(count + 2)
}

/// `==1234==`, as sanitizers and Valgrind begin their lines.
fn process_between(text: &str) -> Option<usize> {
    let inner = text.strip_prefix("==")?;
    let count = digits(inner);
    (count > 0 && inner.get(count..)?.starts_with("==")).then_some(count + 4)
}

/// `550e8400-e29b-41d4-a716-446655440000`.
fn uuid(text: &str) -> Option<usize> {
    let mut length = 0;
    for (index, count) in [8, 4, 4, 4, 12].into_iter().enumerate() {
        if index > 0 {
            text.get(length..)?.strip_prefix('-')?;
            length += 1;
        }
        let hex = text.get(length..)?.bytes().take_while(u8::is_ascii_hexdigit).count();
        if hex != count {
            return None;
        }
        length += count;
    }
    let ends = !text.get(length..)?.starts_with(|c: char| c.is_alphanumeric() || c == '-');
    ends.then_some(length)
}

/// Fewest hexadecimal digits of an abbreviated commit.
const SHORT_HASH: usize = 7;
/// From how many hexadecimal digits on anything is a hash.
const LONG_HASH: usize = 32;

/// `3f2a1bc`, `8d02e5…` in full, and `g3f2a1bc` as `git describe` says it; a word of the letters a to f is none, and a
/// plain number is none.
fn hash(text: &str) -> Option<usize> {
    let prefix = usize::from(text.starts_with('g'));
    let hex = text.get(prefix..)?;
    let count = hex.bytes().take_while(u8::is_ascii_hexdigit).count();
    let ends = !hex.get(count..)?.starts_with(|c: char| c.is_alphanumeric() || c == '_');
    let word = hex.get(..count)?;
    let digits = word.bytes().filter(u8::is_ascii_digit).count();
    let is_short = (SHORT_HASH..=LONG_HASH).contains(&count)
        && !word.bytes().any(|byte| byte.is_ascii_uppercase())
        // `decade1` is a word; few abbreviated commits have one digit or no letter.
        && (2..count).contains(&digits);
    (ends && (is_short || count >= LONG_HASH)).then_some(prefix + count)
}

/// Digits of fractions of a second, as `date +%N` prints them.
const NANOSECONDS: usize = 9;
/// From how many digits on a number is a time or an identity.
const LONG_NUMBER: usize = 13;

/// `093828123`, `84512345678901`: nanoseconds, of a second or since something.
fn long_number(text: &str) -> Option<usize> {
    let count = digits(text);
    let rest = text.get(count..)?;
    let ends = !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_')
        && rest.strip_prefix('.').is_none_or(|rest| digits(rest) == 0);
    let is_long = count == NANOSECONDS || count >= LONG_NUMBER;
    (is_long && ends).then_some(count)
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
            ("x[1234]: fail, items[12]: no, at[1234]", "x[<pid>]: fail, items[12]: no, at[1234]"),
            ("worker pid 77 and PID: 5 with --seed=9", "worker <number> and <number> with --<number>"),
            ("<time> [4711]: no", "<time> [<pid>]: no"),
            ("==4711==ERROR: leak", "==<pid>==ERROR: leak"),
            ("req_550e8400-e29b-41d4-a716-446655440000 x", "req_<uuid> x"),
            ("1700000000.123 fail 1700000000123", "<time> fail <time>"),
            ("1234567 items, id 17000000001", "1234567 items, id 17000000001"),
            ("Error at 10:45 in step, at 9:05 PM", "Error at <time> in step, at <time>"),
            ("on 10:455 and 99:10", "on 10:<line> and 99:<line>"),
            ("Sun Nov 22 22:28:32 UTC 2026 fail", "<time> fail"),
            ("Sun Nov 22 11:05:00 PM UTC 2026: fail", "<time>: fail"),
            ("Nov 2 08:01:02 host x[312]: no", "<time> host x[<pid>]: no"),
            ("[22/Nov/2026:10:00:00 +0000] Sun, 22 Nov 2026 22:28:32 GMT", "[<time>] <time>"),
            ("may 3 fail, 4 march", "may 3 fail, 4 march"),
            ("Unexpected token (1:8)", "Unexpected token (<line>)"),
            ("v1.5s sha256s utf8", "v1.5s sha256s utf8"),
            ("HEAD is now at 3f2a1bc fix", "HEAD is now at <hash> fix"),
            ("8d02e5ab1f0c4e7a9b3d6c5f8e2a1b4c7d9e0f3a..deadbe1 1f", "<hash>..deadbe1 1f"),
            ("v1.2-3-g3f2a1bc, main.3f2a1bc9.js", "v1.2-3-<hash>, main.<hash>.js"),
            ("decade1 facade 1234567 3F2A1BC x3f2a1bc", "decade1 facade 1234567 3F2A1BC x3f2a1bc"),
            ("sha256:9F86D081884C7D659A2FEAA0C55AD015", "sha256:<hash>"),
            ("died at 093828123, run_1763890708123456789", "died at <number>, run_<number>"),
            ("id-84512345678901 x84512345678901", "id-<number> x<number>"),
            ("0.123456789 12345678 8451234567 84512345678", "0.123456789 12345678 8451234567 84512345678"),
        ] {
            assert_eq!(normalised(text), expected);
        }
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
