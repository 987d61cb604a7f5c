//! Lines that say something, among those that tools always print.

use crate::diagnostic::{is_exception, place};

/// What begins a line that is there whatever happens.
const HEADINGS: [&str; 41] = [
    "TAP version ",
    "# Subtest: ",
    "RUN ",
    "> ",
    "$ ",
    "yarn run v",
    "yarn install v",
    "info Visit ",
    "npm warn ",
    "npm WARN ",
    "npm notice",
    "pnpm: ",
    "platform ",
    "cachedir: ",
    "rootdir: ",
    "configfile: ",
    "plugins: ",
    "collected ",
    "collecting ",
    "Using --randomly-seed",
    "running ",
    "Running ",
    "Compiling ",
    "Checking ",
    "Building ",
    "Downloading ",
    "Downloaded ",
    "Updating ",
    "Locking ",
    "Blocking waiting ",
    "Finished ",
    "warning: ",
    "Warning: ",
    "[INFO]",
    "[WARNING]",
    "make: ",
    "(node:",
    "(Use `node ",
    "Node.js v",
    "Debugger attached.",
    "Traceback (most recent call last)",
];

/// What npm says about every script that fails.
const OF_NPM: [&str; 19] = [
    "code ",
    "errno ",
    "syscall ",
    "path ",
    "dest ",
    "file ",
    "cwd ",
    "command ",
    "signal ",
    "workspace ",
    "location ",
    "Lifecycle script ",
    "Exit status ",
    "Test failed. ",
    "Failed at the ",
    "This is probably not a problem with npm",
    "A complete log ",
    "Please include ",
    "in workspace",
];

/// How a line begins that says error, in small letters.
const ERRORS: [&str; 8] = ["error", "fatal", "panic", "fail", "failed", "failure", "[error]", "exception"];

/// A line that says of itself that it is an error.
pub(super) fn error(line: &str) -> Option<&str> {
    let line = telling(line)?;
    let begin = line.get(..12).unwrap_or(line).to_lowercase();
    let says = |word: &str| {
        begin
            .strip_prefix(word)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with([':', ' ', '[', '(', '!']))
    };
    let named = line.split(':').next().unwrap_or_default();
    let raised =
        is_exception(line) && ["Error", "Exception", "Rejection", "]"].iter().any(|end| named.ends_with(end));
    if raised || ERRORS.iter().any(|word| says(word)) {
        return Some(line);
    }
    // In a file that is not below the folder, which is no diagnostic.
    let placed = [": error: ", ": error TS", ": fatal error: "].iter().any(|mark| line.contains(mark));
    let listed = line.split_once("  error  ").filter(|(at, _)| at.trim().split(':').all(is_number));
    if placed { Some(line) } else { listed.map(|(_, said)| said.trim()) }
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_digit())
}

/// A line without what is always said; none when nothing is left.
pub(super) fn telling(line: &str) -> Option<&str> {
    let line = line.trim();
    if let Some(said) = line.strip_prefix("npm ERR!").or_else(|| line.strip_prefix("npm error")) {
        return of_npm(said.trim());
    }
    let is_drawn = !line.contains(|c: char| c.is_alphanumeric());
    // `make[2]: Leaving directory`, `make: *** [test] Error 1`: what it ran has said why.
    let of_make = line.strip_prefix("make[").is_some_and(|rest| rest.contains("]: "));
    // `==== test session starts ====`, `+ command` of a traced shell.
    let is_title = line.starts_with("===") && line.ends_with("===");
    let is_traced = line.trim_start_matches('+').starts_with(' ');
    // `/srv/a.js:3`, above what happened there.
    let is_place = !line.contains(' ') && place(line).is_some_and(|place| place.rest.is_empty());
    let is_heading = HEADINGS.iter().any(|heading| line.starts_with(heading));
    (!(is_drawn || of_make || is_title || is_traced || is_place || is_heading)).then_some(line)
}

fn of_npm(said: &str) -> Option<&str> {
    let is_usual = said.is_empty()
        || OF_NPM.iter().any(|usual| said.starts_with(usual) || said == usual.trim_end())
        || said.contains("_logs/")
        // `shop@1.0.0 test: `node a.js``
        || said.split(' ').next().is_some_and(|word| word.contains('@') && !word.starts_with('@'));
    (!is_usual).then_some(said)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_without_information_are_skipped() {
        for line in [
            "TAP version 13",
            "> app@1.0.0 test",
            " RUN  v1.0.0 /srv",
            "npm ERR! code ELIFECYCLE",
            "npm error Lifecycle script `test` failed with error:",
            "npm ERR! app@1.0.0 test: `node a.js`",
            "npm ERR!",
            "make: *** [Makefile:3: test] Error 1",
            "make[2]: Entering directory '/srv'",
            "+ cat a",
            "++ cat a",
            "======== test session starts ========",
            "────────────",
            "node:internal/process/promises:389",
            "file:///srv/a.mjs:1",
            "(node:7) Warning: old",
            "",
        ] {
            assert_eq!(telling(line), None, "{line}");
        }
        for (line, said) in [
            ("npm ERR! one", "one"),
            ("npm error Missing script: \"none\"", "Missing script: \"none\""),
            ("+3 -1", "+3 -1"),
            ("12 passed, 3 failed", "12 passed, 3 failed"),
        ] {
            assert_eq!(telling(line), Some(said));
        }
    }

    #[test]
    fn errors_say_so_at_their_beginning() {
        for line in [
            "Error: one",
            "fatal: no",
            "error[E1]: x",
            "ValueError: one",
            "TypeError [X]: y",
            "FAILED (failures=1)",
        ] {
            assert_eq!(error(line), Some(line));
        }
        assert_eq!(error("  4:7  error  'y' is not defined  no-undef"), Some("'y' is not defined  no-undef"));
        assert_eq!(error("../a.ts(3,1): error TS1: x"), Some("../a.ts(3,1): error TS1: x"));
        for line in ["no error", "errors: 0", "note: x", "failsafe: on", "12:30: x"] {
            assert_eq!(error(line), None, "{line}");
        }
    }
}
