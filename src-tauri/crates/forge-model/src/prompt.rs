//! What an agent is told, in layers. Stable text comes first, so that model caches hit.

use std::fmt::Write as _;

use crate::{
    attachment::AttachedFile, comment::LineNote, contract, merge::ConflictPath, names, review::ReviewStep,
    verdict::AuditFinding,
};

contract! {
    /// Why a coder is started again, with the evidence it needs.
    #[serde(tag = "kind", rename_all = "snake_case")]
    pub enum Correction {
        /// A check failed.
        CheckFailed {
            /// The failing check.
            step: ReviewStep,
            /// This is attempt n.
            attempt: u32,
            /// Of m.
            of: u32,
        },
        /// A person asked for changes.
        Rejected {
            /// Their words.
            reason: String,
            /// What they said on lines of the diff.
            #[serde(default)]
            comments: Vec<LineNote>,
        },
        /// The auditor does not pass the work.
        AuditFailed {
            /// Its reason.
            reason: String,
            /// What it found.
            findings: Vec<AuditFinding>,
            /// This is attempt n.
            attempt: u32,
            /// Of m.
            of: u32,
        },
        /// A person sent it back or said something.
        Message {
            /// Their words.
            text: String,
            /// What they, or readers of the pull request, said on lines of the diff.
            #[serde(default)]
            comments: Vec<LineNote>,
            /// Files that go with it.
            #[serde(default)]
            files: Vec<AttachedFile>,
        },
        /// The merge conflicts.
        Conflict {
            /// The branch that was to be merged into.
            target: String,
            /// What conflicts.
            paths: Vec<ConflictPath>,
            /// Whether Forge has begun the merge in the worktree, for an agent that cannot.
            #[serde(default)]
            begun: bool,
        },
        /// The repository's hooks refused the commit.
        CommitRefused {
            /// What they printed.
            output: String,
        },
        /// A guard refused the move to review.
        GuardRefused {
            /// Its reason.
            reason: String,
        },
        /// The agent crashed or was lost.
        Interrupted {
            /// What happened.
            what: String,
        },
        /// The agent finished without a change.
        NoChange {},
        /// The auditor's last answer held no verdict.
        NoVerdict {},
        /// The task's ordered subtasks, each a turn of its own after this one.
        PartsFollow {
            /// Number and title of each, in order.
            parts: Vec<String>,
        },
        /// It is the turn of an ordered subtask.
        Subtask {
            /// Its number.
            number: u32,
            /// Its title.
            title: String,
            /// Its description, Markdown.
            description: String,
        },
        /// The workflow says something to whoever works in the state that was entered.
        Workflow {
            /// Its words.
            text: String,
        },
        /// What the project has learned that fits the task.
        Lessons {
            /// The lessons, the most fitting first.
            lessons: Vec<crate::knowledge::Lesson>,
        },
    }
}

contract! {
    /// What a person said to an agent, as people are shown it.
    #[derive(Eq)]
    pub struct SaidMessage {
        /// The words; empty when comments or files say it all.
        pub text: String,
        /// How many comments on the diff went with it.
        pub comments: u32,
        /// The names of the files that went with it.
        pub files: Vec<String>,
    }
}

impl Correction {
    /// The message that it is, if it is one.
    #[must_use]
    pub fn as_said(&self) -> Option<SaidMessage> {
        let Self::Message { text, comments, files } = self else { return None };
        Some(SaidMessage {
            text: text.clone(),
            comments: u32::try_from(comments.len()).unwrap_or(u32::MAX),
            files: files.iter().map(|file| file.name.clone()).collect(),
        })
    }

    /// Whether it says what the run at hand is about, rather than what happened before it.
    #[must_use]
    pub const fn is_of_one_turn(&self) -> bool {
        match self {
            Self::Subtask { .. }
            | Self::PartsFollow { .. }
            | Self::Lessons { .. }
            | Self::Workflow { .. } => true,
            Self::CheckFailed { .. }
            | Self::Rejected { .. }
            | Self::AuditFailed { .. }
            | Self::Message { .. }
            | Self::Conflict { .. }
            | Self::CommitRefused { .. }
            | Self::GuardRefused { .. }
            | Self::Interrupted { .. }
            | Self::NoChange {}
            | Self::NoVerdict {} => false,
        }
    }
}

/// Everything a coder's prompt is made of.
#[derive(Debug, Clone, Copy)]
pub struct CoderPrompt<'a> {
    /// The task's number.
    pub number: u32,
    /// Its title.
    pub title: &'a str,
    /// Its description, Markdown.
    pub description: &'a str,
    /// The branch of the worktree.
    pub branch: &'a str,
    /// The branch that it will be merged into.
    pub target: &'a str,
    /// The checks that will be run.
    pub checks: &'a [String],
    /// The plan that was approved, Markdown.
    pub plan: Option<&'a str>,
    /// Whether the project keeps what its agents propose to remember.
    pub proposes_lessons: bool,
    /// Whether a finished task leaves a note of how it went.
    pub leaves_note: bool,
    /// What led to this run, oldest first.
    pub corrections: &'a [Correction],
}

/// Everything a planner's prompt is made of.
#[derive(Debug, Clone, Copy)]
pub struct PlannerPrompt<'a> {
    /// The task's number.
    pub number: u32,
    /// Its title.
    pub title: &'a str,
    /// Its description, Markdown.
    pub description: &'a str,
    /// The file that the plan is written to.
    pub plan_file: &'a str,
    /// The plan as it stands, when it is to be revised.
    pub plan: Option<&'a str>,
    /// What led to this run, oldest first.
    pub corrections: &'a [Correction],
}

names! {
    /// What a layer of a prompt is.
    pub enum LayerKind {
        /// What the attempt before failed at.
        Reflexion = "reflexion",
        /// What the agent's profile puts before every prompt.
        Profile = "profile",
        /// What Forge does itself and the agent must not.
        Rules = "rules",
        /// The task.
        Task = "task",
        /// Branch and target.
        Place = "place",
        /// What must hold at the end: the checks.
        Acceptance = "acceptance",
        /// The plan that was approved, or is being made.
        Plan = "plan",
        /// What the project has learned, with where it says so.
        Knowledge = "knowledge",
        /// What happened so far, with evidence.
        History = "history",
        /// What this one run is about.
        Now = "now",
    }
}

contract! {
    /// A layer of a prompt. The text of all of them, one after the other, is the prompt.
    #[derive(Eq)]
    pub struct Layer {
        /// What it is.
        pub kind: LayerKind,
        /// Its text, Markdown.
        pub text: String,
    }
}

/// The prompt that layers make.
#[must_use]
pub fn prompt_of(layers: &[Layer]) -> String {
    layers.iter().map(|layer| layer.text.as_str()).collect()
}

/// What an agent's profile says before every prompt.
#[must_use]
pub fn profile_layer(prefix: &str) -> Option<Layer> {
    let prefix = prefix.trim();
    (!prefix.is_empty()).then(|| Layer { kind: LayerKind::Profile, text: format!("{prefix}\n\n") })
}

/// The prompt of a planner, without its profile's layer.
#[must_use]
pub fn planner_layers(input: PlannerPrompt<'_>) -> Vec<Layer> {
    let mut rules = String::from(PLANNER_RULES);
    let _ = writeln!(rules, "Write the plan to `{}` (also in `$FORGE_PLAN_FILE`).", input.plan_file);
    let mut layers = Layers::default();
    layers.add(LayerKind::Rules, rules);
    layers.add(LayerKind::Task, task_text(input.number, input.title, input.description));
    if let Some(plan) = input.plan {
        layers.add(LayerKind::Plan, format!("\n# The plan so far\n\n{}\n", plan.trim()));
    }
    layers.corrections(input.corrections);
    layers.0
}

/// The prompt of a coder, without its profile's layer: what stays the same comes first, so that caches of models hit.
#[must_use]
pub fn coder_layers(input: CoderPrompt<'_>) -> Vec<Layer> {
    let mut rules = String::from(RULES);
    if input.proposes_lessons {
        rules.push_str(LESSONS);
    }
    if input.leaves_note {
        rules.push_str(NOTE);
    }
    let mut layers = Layers::default();
    layers.add(LayerKind::Rules, rules);
    layers.add(LayerKind::Task, task_text(input.number, input.title, input.description));
    let place =
        format!("\n# Where you are\n\nBranch `{}`, to be merged into `{}`.\n", input.branch, input.target);
    layers.add(LayerKind::Place, place);
    if !input.checks.is_empty() {
        let mut checks = String::from("\n# Checks that will be run\n\n");
        for check in input.checks {
            let _ = writeln!(checks, "- `{check}`");
        }
        layers.add(LayerKind::Acceptance, checks);
    }
    if let Some(plan) = input.plan {
        layers.add(LayerKind::Plan, format!("\n# The plan that was approved\n\n{}\n", plan.trim()));
    }
    layers.corrections(input.corrections);
    layers.0
}

fn task_text(number: u32, title: &str, description: &str) -> String {
    let mut text = format!("\n# Task #{number}: {title}\n");
    if !description.trim().is_empty() {
        let _ = write!(text, "\n{}\n", description.trim());
    }
    text
}

#[derive(Default)]
struct Layers(Vec<Layer>);

impl Layers {
    fn add(&mut self, kind: LayerKind, text: String) {
        self.0.push(Layer { kind, text });
    }

    fn corrections(&mut self, corrections: &[Correction]) {
        let (lessons, rest): (Vec<_>, Vec<_>) =
            corrections.iter().partition(|correction| matches!(correction, Correction::Lessons { .. }));
        for correction in lessons {
            let mut text = String::from("\n# What this project has learned\n");
            write_correction(&mut text, correction);
            self.add(LayerKind::Knowledge, text);
        }
        let (now, before): (Vec<_>, Vec<_>) =
            rest.into_iter().partition(|correction| correction.is_of_one_turn());
        if !before.is_empty() {
            let mut text = String::from("\n# What happened so far\n");
            for correction in before {
                text.push('\n');
                write_correction(&mut text, correction);
            }
            self.add(LayerKind::History, text);
        }
        for correction in now {
            let mut text = String::from("\n");
            write_correction(&mut text, correction);
            self.add(LayerKind::Now, text);
        }
    }
}

const PLANNER_RULES: &str = "\
# How you work here

You plan, you do not build: look around in this git worktree and change nothing in it. Say what will be
changed where, in which order, how it will be checked, and what is still open. A person reads the plan and
approves it or sends it back; then somebody else does the work by it.
";

const RULES: &str = "\
# How you work here

You work in a git worktree of your own. Forge commits what you leave, runs the checks, and merges.
Do not commit, merge, push, switch branches or leave this folder. Finish when the task is done, with a
section `## Summary` at the end of your last message: what you changed, how you made sure that it works,
and what is open. People read it on the task's card.
";

/// The form of a proposal, in a fence of its own: an agent that repeats what it was told proposes nothing.
const LESSONS: &str = "
# What later tasks should know

When you finish, say in your last message what somebody who works on this project later would not find
out by reading the code: at most three lessons, none if there is nothing. A person reads them before they
are kept. Each is a block like this one, with a title of at most 120 characters, the paths that it is about
(or no such line), an empty line, and Markdown of at most 8 KiB:

~~~~
```forge-lesson
title: The clock of the tests stands still
paths: tests/support, src/clock.rs

Tests that wait for time to pass hang. Move the clock by hand with `advance`.
```
~~~~

A lesson with code in it is fenced with more backticks than that code.
";

/// The form of a note, fenced like that of a lesson.
const NOTE: &str = "
# How it went

When you finish, leave a note of how the whole task went for whoever works on something like it later: what you
tried, what did not work and why, what decided it. At most 500 words, in your last message, in a block like this:

~~~~
```forge-trajectory
The parser was the obvious place, but it never sees comments; the lexer drops them. ...
```
~~~~
";

/// A message as an agent that is at work is told it.
#[must_use]
pub fn said(words: &str, notes: &[LineNote], files: &[AttachedFile]) -> String {
    let mut text = words.trim().to_owned();
    if !notes.is_empty() {
        text.push_str("\n\n");
        write_said(&mut text, "", notes);
    }
    if !files.is_empty() {
        text.push_str("\n\n");
        write_files(&mut text, files);
    }
    text.trim_start().to_owned()
}

/// Where files lie that a person gave. They are read there, and stay there.
fn write_files(text: &mut String, files: &[AttachedFile]) {
    let _ = writeln!(text, "Files that go with this, outside the worktree; read them, do not change them:\n");
    for file in files {
        let _ = writeln!(text, "- `{}` ({} bytes)", file.path, file.bytes);
    }
}

/// What somebody said about the work as a whole and about lines of it.
fn write_said(text: &mut String, words: &str, notes: &[LineNote]) {
    if !words.trim().is_empty() {
        let _ = writeln!(text, "{}", quoted(words));
    }
    for note in notes {
        let place = match (note.line, note.last_line) {
            (Some(first), Some(last)) if last > first => format!("`{}` lines {first}-{last}", note.path),
            (Some(line), _) => format!("`{}` line {line}", note.path),
            (None, _) if note.excerpt.is_empty() => format!("`{}`", note.path),
            (None, _) => format!("`{}`, lines that are gone", note.path),
        };
        let author = note.author.as_deref().map(|author| format!(" ({author})")).unwrap_or_default();
        let _ = writeln!(text, "\n{place}{author}:\n");
        if !note.excerpt.is_empty() {
            fenced(text, "the lines", &note.excerpt.join("\n"));
        }
        let _ = writeln!(text, "{}", quoted(&note.text));
    }
}

fn note_of(finding: &AuditFinding) -> LineNote {
    LineNote {
        path: finding.file.clone(),
        line: finding.line,
        last_line: None,
        excerpt: Vec::new(),
        author: Some(finding.severity.to_string()),
        text: finding.text.clone(),
    }
}

/// What an agent is told of one thing that led to its run.
pub(crate) fn evidence_of(correction: &Correction) -> String {
    let mut text = String::new();
    write_correction(&mut text, correction);
    text
}

fn write_correction(text: &mut String, correction: &Correction) {
    let _ = match correction {
        Correction::CheckFailed { step, attempt, of } => {
            let how = match (step.timed_out, step.exit_code, step.signal) {
                (true, ..) => "ran out of time".to_owned(),
                (false, Some(code), _) => format!("exited with {code}"),
                (false, None, Some(signal)) => format!("was ended by signal {signal}"),
                (false, None, None) => "did not end".to_owned(),
            };
            let _ = writeln!(text, "Review attempt {attempt} of {of} failed: `{}` {how}.", step.command);
            if !step.changed_files.is_empty() {
                let _ = writeln!(text, "It changed tracked files: {}.", step.changed_files.join(", "));
            }
            fenced(text, "stdout", &step.stdout_tail);
            fenced(text, "stderr", &step.stderr_tail);
            writeln!(text, "Mend the cause, not the check.")
        }
        Correction::Rejected { reason, comments } => {
            let _ = writeln!(text, "The reviewer asks for changes:\n");
            write_said(text, reason, comments);
            Ok(())
        }
        Correction::AuditFailed { reason, findings, attempt, of } => {
            let _ = writeln!(text, "Review attempt {attempt} of {of}: the reviewer rejected the work.\n");
            write_said(text, reason, &findings.iter().map(note_of).collect::<Vec<_>>());
            writeln!(text, "\nMend what it found; where it is wrong, say why in your last words.")
        }
        Correction::Message { text: message, comments, files } => {
            let _ = writeln!(text, "A message for you:\n");
            write_said(text, message, comments);
            if !files.is_empty() {
                text.push('\n');
                write_files(text, files);
            }
            Ok(())
        }
        Correction::Conflict { target, paths, begun } => {
            let _ = writeln!(text, "Merging into `{target}` conflicts in:\n");
            for path in paths {
                let _ = writeln!(text, "- `{}` ({})", path.path, path.kind);
            }
            for path in paths.iter().filter(|path| !path.hunks.is_empty()) {
                fenced(text, &path.path, &path.hunks.join("\n...\n"));
            }
            if *begun {
                writeln!(
                    text,
                    "\nForge has begun to merge `{target}` into your branch in this worktree: these files hold conflict \
                     markers. Resolve\nthem by editing the files, with what both sides wanted, and leave no markers. Do not \
                     commit, rebase or merge\nyourself: Forge commits the merge when you are done."
                )
            } else {
                writeln!(
                    text,
                    "\nRebase onto `{target}` (or merge it), resolve the conflicts, leave no markers."
                )
            }
        }
        Correction::CommitRefused { output } => {
            let _ = writeln!(text, "The repository's hooks refused to commit your work:");
            fenced(text, "output", output);
            Ok(())
        }
        Correction::GuardRefused { reason } => writeln!(text, "Your work cannot go to review yet: {reason}"),
        Correction::Interrupted { what } => {
            writeln!(text, "An earlier run did not end well: {what}. Look at what is there and go on.")
        }
        Correction::Lessons { lessons } => {
            lessons.iter().try_for_each(|lesson| write!(text, "\n{}", lesson.told()))
        }
        Correction::Workflow { text: words } => writeln!(text, "{}", words.trim()),
        // Only auditors are told, see `audit_prompt`.
        Correction::NoVerdict {} => Ok(()),
        Correction::NoChange {} => {
            writeln!(
                text,
                "You finished without changing anything. If the task is done, say so; else do it now."
            )
        }
        Correction::PartsFollow { parts } => {
            let _ = writeln!(
                text,
                "# Parts that follow\n\nThese are turns of their own after this one. Leave them for then.\n"
            );
            parts.iter().try_for_each(|part| writeln!(text, "- {part}"))
        }
        Correction::Subtask { number, title, description } => {
            let _ = writeln!(text, "# Your turn now: subtask #{number}: {title}");
            if !description.trim().is_empty() {
                let _ = writeln!(text, "\n{}", description.trim());
            }
            writeln!(
                text,
                "\nThe task above is what it is part of. Do this part alone; earlier parts are done, later ones follow."
            )
        }
    };
}

fn quoted(text: &str) -> String {
    text.lines().map(|line| format!("> {line}")).collect::<Vec<_>>().join("\n")
}

fn fenced(text: &mut String, name: &str, body: &str) {
    if !body.trim().is_empty() {
        // Longer than any in it: what is quoted cannot end its own quotation.
        let longest = body.split(|c| c != '~').map(str::len).max().unwrap_or(0);
        let fence = "~".repeat(longest.max(3) + 1);
        let _ = writeln!(text, "\n{name}:\n{fence}\n{}\n{fence}\n", body.trim_end());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text_of(input: CoderPrompt<'_>) -> String {
        prompt_of(&coder_layers(input))
    }

    fn step() -> ReviewStep {
        ReviewStep {
            exit_code: Some(1),
            finished: true,
            duration_ms: 12,
            stdout_tail: "2 passed, 1 failed\n".into(),
            ..ReviewStep::begun(0, "sh test.sh", "l")
        }
    }

    #[test]
    fn a_subtasks_turn_comes_last_in_a_frame_of_its_own() {
        let corrections = [
            Correction::Subtask { number: 13, title: "Test it".into(), description: "Add a test.".into() },
            Correction::Interrupted { what: "the agent ended with exit code 1".into() },
        ];
        let prompt = text_of(CoderPrompt {
            number: 12,
            title: "Greet in German",
            description: "Add `--lang de`.",
            branch: "forge/abc",
            target: "main",
            checks: &[],
            corrections: &corrections,
            plan: None,
            proposes_lessons: false,
            leaves_note: false,
        });
        insta::assert_snapshot!(prompt.split_once("# What happened so far").unwrap().1, @r"


        An earlier run did not end well: the agent ended with exit code 1. Look at what is there and go on.

        # Your turn now: subtask #13: Test it

        Add a test.

        The task above is what it is part of. Do this part alone; earlier parts are done, later ones follow.
        ");
    }

    #[test]
    fn layers_of_a_corrective_prompt() {
        let corrections = [
            Correction::CheckFailed { step: step(), attempt: 1, of: 3 },
            Correction::Rejected { reason: "Handle the empty name.\nAnd test it.".into(), comments: vec![] },
        ];
        insta::assert_snapshot!(text_of(CoderPrompt {
            number: 12,
            title: "Greet in German",
            description: "Add `--lang de`.",
            branch: "forge/abc",
            target: "main",
            checks: &["sh test.sh".into()],
            plan: None,
            proposes_lessons: false,
            leaves_note: false,
            corrections: &corrections,
        }));
    }
}
