//! Approvals: what agents ask a person, while a command waits for a task and by themselves.

use std::io::{BufRead as _, IsTerminal as _};

use forge_api::{
    operations::{ApprovalAnswer, ApprovalList},
    ops::executions::{AnswerApproval, ListApprovals},
};
use forge_model::{approval::Approval, task::Task};

use crate::{
    answer::say,
    at::At,
    error::{CliError, Kind},
    shown::printable,
};

/// What became of an approval that a watched task asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::command) enum Met {
    /// There is none, or it was answered: the wait goes on.
    Nothing,
    /// Another command answers it.
    Left,
}

/// The open approvals of a task and of the entries of its race.
pub(in crate::command) async fn open_of(at: &At, task: &Task) -> Result<Vec<Approval>, CliError> {
    let all = at.call(ApprovalList, ListApprovals { task_id: None, all: None }).await?.value.items;
    let is_of = |it: &Approval| {
        it.task_id == task.id || it.raced.as_ref().is_some_and(|entry| entry.task_id == task.id)
    };
    Ok(all.into_iter().filter(is_of).collect())
}

/// Has the person at the terminal answer what a watched task asks for. With an engine that stays, the wait is over, since
/// the task needs a person; without one, nothing but this process could pass an answer on.
pub(in crate::command) async fn meet(at: &At, task: &Task) -> Result<Met, CliError> {
    let Some(approval) = open_of(at, task).await?.into_iter().next() else { return Ok(Met::Nothing) };
    if !at.connection.is_own() {
        return Ok(Met::Left);
    }
    if !(std::io::stdin().is_terminal() && std::io::stderr().is_terminal()) {
        return Err(CliError::Told {
            kind: Kind::Conflict,
            message: printable(&format!(
                "Could not wait for #{}: its agent asks for an approval: {}",
                task.number, approval.title
            )),
            hint: "Run `forge serve`, which goes on with the task; then list approvals with `forge run approvals`, \
                   and answer with `forge run answer`."
                .to_owned(),
        });
    }
    say(&asked(task.number, &approval));
    let line = tokio::task::spawn_blocking(|| {
        let mut line = String::new();
        std::io::stdin().lock().read_line(&mut line).map(|_| line)
    });
    let line = line.await.map_err(|error| CliError::io("read the answer")(std::io::Error::other(error)))?;
    let line = line.map_err(CliError::io("read the answer"))?;
    if line.is_empty() {
        // The terminal is gone, and would be asked without end.
        return Err(CliError::Interrupted);
    }
    let Some(option) = chosen(&line, &approval) else {
        say(&format!("`{}` is none of the answers.", printable(line.trim())));
        return Box::pin(meet(at, task)).await;
    };
    let answer = AnswerApproval {
        execution_id: approval.execution_id.clone(),
        approval_id: approval.id.clone(),
        option: option.to_owned(),
        note: None,
    };
    match at.call(ApprovalAnswer, answer).await {
        // It expired while the person read it, or is still open and asked for again.
        Err(error @ CliError::Refused(_)) => {
            say(&error.to_string());
            Box::pin(meet(at, task)).await
        }
        answered => answered.map(|_| Met::Nothing),
    }
}

/// What a person at a terminal is asked.
fn asked(task: u32, approval: &Approval) -> String {
    let mut lines = vec![format!("#{task} asks for an approval: {}", approval.title)];
    for (number, option) in (1..).zip(&approval.options) {
        lines.push(format!("  {number}  {} ({})", option.label, option.id));
    }
    lines.push("Answer with a number:".to_owned());
    printable(&lines.join("\n"))
}

/// The option of a line: by its number, or by its id.
fn chosen<'a>(line: &str, approval: &'a Approval) -> Option<&'a str> {
    let line = line.trim();
    let by_number = || {
        let number: usize = line.parse().ok()?;
        approval.options.get(number.checked_sub(1)?)
    };
    let option = approval.options.iter().find(|option| option.id == line).or_else(by_number);
    option.map(|option| option.id.as_str())
}

/// The ids of an approval's options, each with its label where that says more.
pub(in crate::command) fn options(approval: &Approval) -> String {
    let one = |option: &forge_model::approval::ApprovalOption| {
        if option.id == option.label {
            option.id.clone()
        } else {
            format!("{} ({})", option.id, option.label)
        }
    };
    let all: Vec<String> = approval.options.iter().map(one).collect();
    all.join(", ")
}

/// The option that a person answers with, which may be named by its label.
pub(in crate::command) fn option_named<'a>(named: &'a str, approval: &'a Approval) -> &'a str {
    let by_label = approval.options.iter().find(|option| option.label.eq_ignore_ascii_case(named));
    let is_id = approval.options.iter().any(|option| option.id == named);
    by_label.filter(|_| !is_id).map_or(named, |option| &option.id)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn approval() -> Approval {
        serde_json::from_value(json!({
            "id": "q", "project_id": "p", "task_id": "t", "execution_id": "e", "agent_id": "a", "kind": "command",
            "ask": "1", "title": "Run `make`", "detail": {}, "status": "pending", "asked_at": "2026-01-02T03:04:05.006Z",
            "options": [
                { "id": "allow", "label": "Allow once", "choice": "allow_once" },
                { "id": "stop", "label": "stop", "choice": "stop" },
            ],
        }))
        .unwrap()
    }

    #[test]
    fn approval_is_answered_by_number_or_id() {
        let approval = approval();
        assert_eq!(
            asked(7, &approval),
            "#7 asks for an approval: Run `make`\n  1  Allow once (allow)\n  2  stop (stop)\nAnswer with a number:"
        );
        assert_eq!(chosen(" 1\n", &approval), Some("allow"));
        assert_eq!(chosen("stop\n", &approval), Some("stop"));
        for wrong in ["", "0", "3", "yes"] {
            assert_eq!(chosen(wrong, &approval), None, "{wrong}");
        }
    }

    #[test]
    fn options_are_told_with_their_labels_and_named_by_either() {
        let approval = approval();
        assert_eq!(options(&approval), "allow (Allow once), stop");
        assert_eq!(option_named("allow once", &approval), "allow");
        assert_eq!(option_named("allow", &approval), "allow");
        assert_eq!(option_named("other", &approval), "other");
    }
}
