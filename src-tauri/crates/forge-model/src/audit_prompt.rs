//! What an auditor is asked. The instruction for the verdict is always last: what stands before it may be
//! anything, a diff included.

use std::fmt::Write as _;

use crate::review::{Review, ReviewStep};

/// Everything an auditor's prompt is made of.
#[derive(Debug, Clone, Copy)]
pub struct AuditPrompt<'a> {
    /// The task's number.
    pub number: u32,
    /// Its title.
    pub title: &'a str,
    /// Its description, Markdown.
    pub description: &'a str,
    /// The branch that the work will be merged into.
    pub target: &'a str,
    /// Where the work left it (commit).
    pub base: &'a str,
    /// The work (commit).
    pub commit: &'a str,
    /// All changed files with how many lines each adds and removes.
    pub files: &'a [(String, u32, u32)],
    /// The changes as far as they fit, whole files.
    pub diff: &'a str,
    /// Changed files that did not fit.
    pub left_out: &'a [String],
    /// The checks of this attempt.
    pub checks: &'a [ReviewStep],
    /// Earlier attempts that were judged, oldest first.
    pub earlier: &'a [Review],
    /// Files that changed since the last of them.
    pub since: &'a [String],
    /// What the project asks auditors to look at.
    pub wishes: Option<&'a str>,
    /// Whether an earlier answer to this very prompt held no verdict.
    pub again: bool,
}

const RULES: &str = "\
# How you work here

You judge the work of another agent in its git worktree. Read what you like and run what you need; whatever
you change, write or commit is discarded. Do not mend anything. Judge whether the work does what the task asks
and can be merged as it is: is it right, complete, safe, and no more than was asked?
";

const VERDICT: &str = "\
# Your verdict

End your answer with one of these markers, alone on its line, outside of quotes and code:

    ===REVIEW: PASS===
    ===REVIEW: FAIL: the reason in one sentence===

Before it you may give a score from 0 to 100, alone on its line as well:

    ===SCORE: 85===

Or end with one JSON object instead of both:

    {\"verdict\": \"pass\" or \"fail\", \"score\": 85, \"summary\": \"...\", \"findings\": [{\"file\": \"path\", \"line\": 12, \"severity\": \"error\" or \"warning\" or \"info\", \"text\": \"...\"}]}

Findings become comments on those lines of the new version. Without a verdict your review cannot be used.
";

/// The prompt of an auditor.
#[must_use]
pub fn audit_prompt(input: AuditPrompt<'_>) -> String {
    let mut text = String::from(RULES);
    let _ = write!(text, "\n# Task #{}: {}\n", input.number, input.title);
    if !input.description.trim().is_empty() {
        let _ = write!(text, "\n{}\n", input.description.trim());
    }
    write_changes(&mut text, &input);
    if !input.checks.is_empty() {
        text.push_str("\n# Checks\n\n");
        for check in input.checks {
            let how = match (check.exit_code, check.cached) {
                (Some(0), true) => "passed (on the same files before)".to_owned(),
                (Some(0), false) => "passed".to_owned(),
                (Some(code), _) => format!("exited with {code}"),
                (None, _) => "did not end".to_owned(),
            };
            let _ = writeln!(text, "- `{}` {how}", check.command);
        }
    }
    write_earlier(&mut text, &input);
    if let Some(wishes) = input.wishes.filter(|wishes| !wishes.trim().is_empty()) {
        let _ = write!(text, "\n# What this project asks you to look at\n\n{}\n", wishes.trim());
    }
    if input.again {
        text.push_str("\nYour last answer held no verdict that counts. Answer again, with one.\n");
    }
    let _ = write!(text, "\n{VERDICT}");
    text
}

fn write_changes(text: &mut String, input: &AuditPrompt<'_>) {
    let AuditPrompt { target, base, commit, files, diff, left_out, .. } = input;
    let _ = write!(text, "\n# The changes\n\nCommit {commit}, which left `{target}` at {base}.\n\n");
    if files.is_empty() {
        text.push_str("Nothing is changed.\n");
        return;
    }
    for (path, added, removed) in *files {
        let _ = writeln!(text, "- `{path}` +{added} -{removed}");
    }
    if !diff.trim().is_empty() {
        // Longer than any in it: what is quoted cannot end its own quotation.
        let longest = diff.split(|c| c != '~').map(str::len).max().unwrap_or(0);
        let fence = "~".repeat(longest.max(3) + 1);
        let _ = write!(text, "\n{fence}diff\n{}\n{fence}\n", diff.trim_end());
    }
    if !left_out.is_empty() {
        let count = left_out.len();
        let _ = write!(
            text,
            "\nThe diff is cut: {count} of the files above are not in it. Read them by `git diff {base} {commit} -- <file>`:\n\n"
        );
        for path in *left_out {
            let _ = writeln!(text, "- `{path}`");
        }
    }
}

fn write_earlier(text: &mut String, input: &AuditPrompt<'_>) {
    let judged = input.earlier.iter().filter_map(|review| Some((review, review.verdict?)));
    let mut any = false;
    for (review, verdict) in judged {
        if !any {
            text.push_str("\n# Earlier attempts\n\n");
            any = true;
        }
        let reason = review.reason.as_deref().unwrap_or("no reason given");
        let _ = writeln!(text, "- attempt {}: {verdict}. {}", review.attempt_number, one_line(reason));
        let findings = review.audits.iter().flat_map(|report| &report.audit.findings);
        for finding in findings {
            let line = finding.line.map(|line| format!(":{line}")).unwrap_or_default();
            let _ = writeln!(text, "  - `{}{line}` {}", finding.file, one_line(&finding.text));
        }
    }
    if any && !input.since.is_empty() {
        text.push_str("\nChanged since the last of them:\n\n");
        for path in input.since {
            let _ = writeln!(text, "- `{path}`");
        }
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
