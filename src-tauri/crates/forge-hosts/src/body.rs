//! What a pull request says about the work in it.

use std::fmt::Write as _;

use crate::{defuse::defused, text::shortened};

/// The least of what hosts allow for a title is 255; drafts need a little of it.
const LONGEST_TITLE: usize = 240;
/// GitHub allows 65 536 characters for everything.
const LONGEST_TEXT: usize = 16_000;
const LONGEST_COMMAND: usize = 200;
const MOST_CHECKS: usize = 50;

/// What is told about a task.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Summary {
    /// The task's title.
    pub title: String,
    /// The task's number on its board; not an issue's.
    pub number: u32,
    /// What was asked for, Markdown.
    pub description: String,
    /// What was done, Markdown.
    pub done: String,
    /// The checks that ran.
    pub checks: Vec<Check>,
    /// Who reviewed it.
    pub reviewer: Option<String>,
    /// What it cost, in millionths of a dollar.
    pub cost_micro_usd: Option<u64>,
    /// How long it took, in milliseconds.
    pub duration_ms: i64,
}

/// A check that ran.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// Its command.
    pub command: String,
    /// Whether it passed.
    pub ok: bool,
    /// How long it took, in milliseconds.
    pub ms: i64,
}

/// A title that fits every host, in one line. It may become a commit's message, so it is harmless as well.
#[must_use]
pub fn pull_request_title(title: &str) -> String {
    harmless(&one_line(title), LONGEST_TITLE)
}

/// The body of a task's pull request as Markdown. Nothing in it pings people, closes issues or gives orders to
/// the host, whatever the texts of the task say.
#[must_use]
pub fn pull_request_body(summary: &Summary) -> String {
    let mut body = String::new();
    let done = free_text(&summary.done);
    if !done.is_empty() {
        body.push_str(&done);
        body.push_str("\n\n");
    }
    checks(&mut body, &summary.checks);
    facts(&mut body, summary);
    let description = free_text(&summary.description);
    if !description.is_empty() {
        body.push_str("\n## Task\n\n");
        body.push_str(&description);
        body.push('\n');
    }
    body
}

fn checks(body: &mut String, checks: &[Check]) {
    if checks.is_empty() {
        return;
    }
    body.push_str("## Checks\n\n| command | result | time |\n| --- | --- | ---: |\n");
    for check in checks.iter().take(MOST_CHECKS) {
        let result = if check.ok { "passed" } else { "**failed**" };
        line(body, format_args!("| {} | {result} | {} |", code_in_table(&check.command), span(check.ms)));
    }
    if let Some(more @ 1..) = checks.len().checked_sub(MOST_CHECKS) {
        line(body, format_args!("\nAnd {more} more."));
    }
    body.push('\n');
}

fn facts(body: &mut String, summary: &Summary) {
    // Not `#12`: that would be an issue of the host.
    line(body, format_args!("- Forge task {}: {}", summary.number, inline(&summary.title)));
    if let Some(reviewer) = &summary.reviewer {
        line(body, format_args!("- Reviewed by {}", inline(reviewer)));
    }
    line(body, format_args!("- Took {}", span(summary.duration_ms)));
    if let Some(cost) = summary.cost_micro_usd {
        line(body, format_args!("- Cost {}", dollars(cost)));
    }
}

fn line(body: &mut String, text: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _ = writeln!(body, "{text}");
}

/// Markdown of somebody else, as a part of ours: cut, harmless, and with its code closed.
fn free_text(text: &str) -> String {
    let mut text = harmless(text.trim(), LONGEST_TEXT);
    if let Some(fence) = open_fence(&text) {
        text.push('\n');
        text.push_str(&fence);
    }
    text
}

/// The fence that would end the code that is open at the end of the text.
fn open_fence(text: &str) -> Option<String> {
    let mut open: Option<(char, usize)> = None;
    for line in text.lines() {
        let line = line.trim_start();
        let Some(mark) = line.chars().next().filter(|c| matches!(c, '`' | '~')) else { continue };
        let length = line.chars().take_while(|c| *c == mark).count();
        let info = line[length..].trim();
        open = match open {
            None if length >= 3 && !(mark == '`' && info.contains('`')) => Some((mark, length)),
            Some((opened, at_least)) if mark == opened && length >= at_least && info.is_empty() => None,
            as_before => as_before,
        };
    }
    open.map(|(mark, length)| std::iter::repeat_n(mark, length).collect())
}

/// Cut before as well as after: what is cut away costs nothing.
fn harmless(text: &str, longest: usize) -> String {
    shortened(&defused(&shortened(text, longest)), longest)
}

/// A phrase that is no Markdown.
fn inline(text: &str) -> String {
    let mut out = String::new();
    for c in harmless(&one_line(text), LONGEST_TITLE).chars() {
        if matches!(c, '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '|' | '~') {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

/// A code span within a table, whatever the code holds.
fn code_in_table(code: &str) -> String {
    let code = harmless(&one_line(code), LONGEST_COMMAND).replace('|', "\\|");
    let longest = code.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    let pad = if code.is_empty() || code.starts_with('`') || code.ends_with('`') { " " } else { "" };
    format!("{fence}{pad}{code}{pad}{fence}")
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn span(ms: i64) -> String {
    let ms = ms.max(0);
    let (minutes, seconds) = (ms / 60_000, ms / 1000);
    match ms {
        0..10_000 => format!("{}.{} s", seconds, ms % 1000 / 100),
        10_000..60_000 => format!("{seconds} s"),
        60_000..3_600_000 => format!("{minutes} min {} s", seconds % 60),
        _ => format!("{} h {} min", minutes / 60, minutes % 60),
    }
}

fn dollars(micro: u64) -> String {
    match micro {
        0 => "$0.00".to_owned(),
        1..10_000 => "less than $0.01".to_owned(),
        _ => {
            let cents = micro.saturating_add(5000) / 10_000;
            format!("${}.{:02}", cents / 100, cents % 100)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(text: &str) -> String {
        text.replace('\u{200b}', "|")
    }

    #[test]
    fn a_body_tells_what_was_done() {
        let summary = Summary {
            title: "Parse dates".to_owned(),
            number: 12,
            description: "Dates like `2024-02-30` must be refused.\n\n- with a message\n".to_owned(),
            done: "Dates are parsed by the calendar.\n".to_owned(),
            checks: vec![
                Check { command: "cargo test".to_owned(), ok: true, ms: 8_250 },
                Check { command: "cargo clippy".to_owned(), ok: false, ms: 61_000 },
            ],
            reviewer: Some("Careful Reviewer".to_owned()),
            cost_micro_usd: Some(423_000),
            duration_ms: 754_000,
        };
        insta::assert_snapshot!(pull_request_body(&summary), @r"
        Dates are parsed by the calendar.

        ## Checks

        | command | result | time |
        | --- | --- | ---: |
        | `cargo test` | passed | 8.2 s |
        | `cargo clippy` | **failed** | 1 min 1 s |

        - Forge task 12: Parse dates
        - Reviewed by Careful Reviewer
        - Took 12 min 34 s
        - Cost $0.42

        ## Task

        Dates like `2024-02-30` must be refused.

        - with a message
        ");
    }

    #[test]
    fn a_body_says_only_what_is_known() {
        let summary = Summary { title: "A".to_owned(), number: 1, ..Summary::default() };
        insta::assert_snapshot!(pull_request_body(&summary), @r"
        - Forge task 1: A
        - Took 0.0 s
        ");
    }

    #[test]
    fn hostile_texts_do_nothing() {
        let summary = Summary {
            title: "fixes #1 for @octocat\n# not a heading <b>*bold*</b>".to_owned(),
            number: 7,
            description: "/close\n@everyone closes https://github.com/o/r/issues/3\n<!-- hides".to_owned(),
            done: "Resolves GH-4\n```rust\nfn open() {".to_owned(),
            checks: vec![Check { command: "echo `a` | b\n@me".to_owned(), ok: true, ms: -5 }],
            reviewer: Some("@auditor".to_owned()),
            cost_micro_usd: Some(9),
            duration_ms: 7_260_000,
        };
        insta::assert_snapshot!(seen(&pull_request_body(&summary)), @r"
        R|esolves GH-4
        ```rust
        fn open() {
        ```

        ## Checks

        | command | result | time |
        | --- | --- | ---: |
        | ``echo `a` \| b @|me`` | passed | 0.0 s |

        - Forge task 7: fixes #|1 for @|octocat # not a heading \<|b\>\*bold\*\<|/b\>
        - Reviewed by @|auditor
        - Took 2 h 1 min
        - Cost less than $0.01

        ## Task

        |/close
        @|everyone c|loses https://github.com/o/r/issues/3
        <|!-- hides
        ");
    }

    #[test]
    fn a_body_fits_the_strictest_host() {
        let long = "@a #1 ".repeat(4_000);
        let check = Check { command: long.clone(), ok: false, ms: i64::MAX };
        let summary = Summary {
            title: long.clone(),
            number: u32::MAX,
            description: long.clone(),
            done: long.clone(),
            checks: vec![check; 500],
            reviewer: Some(long.clone()),
            cost_micro_usd: Some(u64::MAX),
            duration_ms: i64::MAX,
        };
        let body = pull_request_body(&summary);
        assert!(body.chars().count() < 65_536, "{}", body.chars().count());
        assert!(body.contains("And 450 more."));
        assert!(pull_request_title(&long).len() <= LONGEST_TITLE);
    }

    #[test]
    fn a_title_is_one_harmless_line() {
        assert_eq!(seen(&pull_request_title(" fix:\n closes #4 by @me ")), "fix: closes #|4 by @|me");
    }

    #[test]
    fn amounts_are_rounded_as_people_do() {
        for (micro, expected) in
            [(0, "$0.00"), (9_999, "less than $0.01"), (15_000, "$0.02"), (12_340_000, "$12.34")]
        {
            assert_eq!(dollars(micro), expected);
        }
        for (ms, expected) in [(0, "0.0 s"), (9_999, "9.9 s"), (59_999, "59 s"), (3_600_000, "1 h 0 min")] {
            assert_eq!(span(ms), expected);
        }
    }
}
