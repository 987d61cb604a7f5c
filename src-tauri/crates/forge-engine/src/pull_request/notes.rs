//! Messages of a code host about a pull request, as text for an agent.

use forge_hosts::TokenSource;
use forge_model::comment::{LineNote, MAX_TEXT_BYTES};
use forge_model::correction::Correction;
use forge_model::ids::TaskId;
use forge_model::pull_request::{HostCheckStatus, HostComment, HostVerdict, PullRequest};

use crate::{EngineError, World, error::Result, review};

/// What the agent is told: the person's words, what was said of no line, failed checks, comments on lines.
pub(crate) async fn correction_of(
    world: &World,
    id: &TaskId,
    pull: &PullRequest,
    news: &PullRequestNews,
) -> Result<Correction> {
    let mut findings = Vec::new();
    let mut unknown = |field: String, what: &str| {
        let message = format!("pull request {} has no such {what}", pull.number);
        findings.push(forge_model::workflow::Finding::new(field, message));
    };
    let (mut said, mut checks) = (Vec::new(), Vec::new());
    for (index, name) in news.comments.iter().enumerate() {
        match pull.comments.iter().find(|comment| comment.id == *name) {
            Some(comment) => said.push(comment),
            None => unknown(format!("comments[{index}]"), "comment"),
        }
    }
    for (index, name) in news.checks.iter().enumerate() {
        let failed = |status| status == HostCheckStatus::Failed;
        match pull.checks.iter().find(|check| check.name == *name && failed(check.status)) {
            Some(check) => checks.push(check),
            None => unknown(format!("checks[{index}]"), "check that failed"),
        }
    }
    if !findings.is_empty() {
        return Err(EngineError::Invalid(findings));
    }
    let words = news.message.as_deref().map(str::trim).filter(|words| !words.is_empty());
    if words.is_none() && said.is_empty() && checks.is_empty() {
        return Err(EngineError::invalid("message", "choose a comment or a check, or write a message"));
    }
    let mut text: Vec<String> = words.map(str::to_owned).into_iter().collect();
    for check in checks {
        let more = [check.summary.as_deref(), check.url.as_deref()];
        let more: Vec<&str> = more.into_iter().flatten().collect();
        let end = if more.is_empty() { String::new() } else { format!(": {}", more.join(", ")) };
        text.push(format!("The check `{}` failed at the code host{end}", check.name));
    }
    let mut placed = review::comments::notes_of_host(world, id, &news.comments).await?;
    let mut notes = Vec::new();
    for comment in said {
        match (placed.remove(&comment.id), &comment.path) {
            (Some(note), _) => notes.push(note),
            (None, Some(path)) => notes.push(bare_note(comment, path)),
            (None, None) => text.push(spoken(comment)),
        }
    }
    Ok(Correction::Message { text: text.join("\n\n"), comments: notes, files: Vec::new() })
}

/// A comment on a line that has no place in the diff.
fn bare_note(comment: &HostComment, path: &str) -> LineNote {
    LineNote {
        path: path.to_owned(),
        line: comment.line,
        last_line: comment.line,
        excerpt: Vec::new(),
        author: Some(comment.author.clone()),
        text: cut(&comment.body).to_owned(),
    }
}

/// A comment on nothing in particular, with who says it.
fn spoken(comment: &HostComment) -> String {
    let did = match comment.verdict {
        Some(HostVerdict::Approved) => "approved it",
        Some(HostVerdict::ChangesRequested) => "asked for changes",
        None => "said",
    };
    let quoted: Vec<String> = cut(&comment.body).lines().map(|line| format!("> {line}")).collect();
    format!("{} {did} at the code host:\n{}", comment.author, quoted.join("\n"))
}

pub(crate) fn cut(text: &str) -> &str {
    text.get(..text.floor_char_boundary(MAX_TEXT_BYTES)).unwrap_or(text).trim()
}

pub(crate) fn source_name(source: &TokenSource) -> String {
    match source {
        TokenSource::Keychain => "keychain".to_owned(),
        TokenSource::Variable(name) => (*name).to_owned(),
        TokenSource::Command(words) => words.first().cloned().unwrap_or_default(),
    }
}

/// What of a pull request is sent to the agent.
#[derive(Debug, Clone, Default)]
pub struct PullRequestNews {
    /// Ids of comments, as the host names them.
    pub comments: Vec<String>,
    /// Names of checks that failed.
    pub checks: Vec<String>,
    /// What the person says to it.
    pub message: Option<String>,
}
