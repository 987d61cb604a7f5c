//! What an agent is told of each thing that led to its run.

use std::fmt::Write as _;

use forge_model::{audit::AuditFinding, comment::LineNote, correction::Correction};

use crate::{
    message::{write_files, write_said},
    text::write_named,
};

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

/// Writes what an agent is told of one thing that led to its run.
pub(crate) fn write_correction(text: &mut String, correction: &Correction) {
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
            write_named(text, "stdout", &step.stdout_tail);
            write_named(text, "stderr", &step.stderr_tail);
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
                write_named(text, &path.path, &path.hunks.join("\n...\n"));
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
            write_named(text, "output", output);
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
