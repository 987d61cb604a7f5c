//! `forge issue`.

use std::path::Path;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use forge_api::{
    Reply,
    operations::{
        IssueImport, IssueImportCancel, IssueImportContinue, IssueImportFile, IssueImportGet, IssueImports,
        IssueList, TaskIssue, TaskIssueResolve,
    },
    ops::{
        TaskPath,
        issues::{ImportFile, ImportIssues, ImportPath, ListIssues, ResolveIssue},
        projects::ProjectPath,
    },
};
use forge_model::{
    event::EventType,
    ids::IssueImportId,
    issue::{self, ImportCounts, ImportStatus, IssueChoice, IssueFilter, IssueKind, ListedIssue},
    words::counted,
};

use super::task::find;
use crate::{
    answer::Answer,
    args::{Issue, IssueFilterArgs, IssueFormat, IssueStates, KeepText},
    at::At,
    error::CliError,
    shown::{NONE, printable, table},
    words,
};

pub(crate) async fn run(at: &At, command: Issue) -> Result<Answer, CliError> {
    match command {
        Issue::List { filter, page } => list(at, filter, page).await,
        Issue::Import { numbers, all, filter, file, format, board, into, no_wait } => {
            let started = match file {
                Some(file) => import_file(at, &file, (format, board), into).await?,
                None => {
                    let is_narrowed =
                        filter.search.is_some() || !filter.label.is_empty() || filter.state.is_some();
                    if numbers.is_empty() && !all && !is_narrowed {
                        return Err(CliError::Usage {
                            message: "which issues to import is not said".to_owned(),
                            hint: "Name numbers, --search, --label or --state, or import --all open ones.",
                        });
                    }
                    import_from_host(at, numbers, filter, into).await?
                }
            };
            let id = started.id.clone();
            let import = if no_wait { started } else { until_it_rests(at, started).await? };
            Ok(Answer { good: import.status != ImportStatus::Failed, ..told(import, &id) })
        }
        Issue::Imports => imports(at).await,
        Issue::Cancel(named) => {
            let import_id = IssueImportId(named.import);
            let import = at.call(IssueImportCancel, ImportPath { import_id: import_id.clone() }).await?;
            Ok(told(import, &import_id))
        }
        Issue::Continue(named) => {
            let import_id = IssueImportId(named.import);
            let import = at.call(IssueImportContinue, ImportPath { import_id: import_id.clone() }).await?;
            let import = until_it_rests(at, import).await?;
            Ok(Answer { good: import.status != ImportStatus::Failed, ..told(import, &import_id) })
        }
        Issue::Show(named) => {
            let task = find(at, &named).await?;
            let found = at.call(TaskIssue, TaskPath { task_id: task.id.clone() }).await?;
            let text = match &found.issue {
                Some(issue) => shown(issue, task.number),
                None => format!("#{} was not imported from an issue.", task.number),
            };
            Ok(Answer::new(found.json, text))
        }
        Issue::Keep { task, keep } => {
            let task = find(at, &task).await?;
            let keep = match keep {
                KeepText::Issue => IssueChoice::Issue,
                KeepText::Task => IssueChoice::Task,
            };
            let choice = ResolveIssue { task_id: task.id.clone(), keep, version: Some(task.version) };
            let task = at.call(TaskIssueResolve, choice).await?;
            let text = printable(&format!("#{} {}", task.number, task.title));
            Ok(Answer::new(task.json, text))
        }
    }
}

async fn list(at: &At, filter: IssueFilterArgs, page: u32) -> Result<Answer, CliError> {
    let project_id = at.project().await?;
    let asked = ListIssues {
        project_id,
        q: filter.search,
        labels: (!filter.label.is_empty()).then(|| filter.label.join(",")),
        state: filter.state.map(states),
        page: Some(page),
    };
    let found = at.call(IssueList, asked).await?;
    let row = |it: &ListedIssue| {
        let task = it.task_number.map_or_else(|| NONE.to_owned(), |number| format!("#{number}"));
        let ListedIssue { issue, .. } = it;
        vec![
            issue.reference.clone(),
            issue.state.to_string(),
            task,
            issue.title.clone(),
            issue.labels.join(", "),
        ]
    };
    let rows: Vec<Vec<String>> = found.items.iter().map(row).collect();
    let mut text = match rows.as_slice() {
        [] => "No issue matches.".to_owned(),
        rows => table(&["ISSUE", "STATE", "TASK", "TITLE", "LABELS"], rows),
    };
    if let Some(next) = found.next_page {
        text.push_str(&format!("\nnext: add --page {next}"));
    }
    Ok(Answer::new(found.json, text))
}

async fn import_from_host(
    at: &At,
    numbers: Vec<u32>,
    filter: IssueFilterArgs,
    into: Option<String>,
) -> Result<Reply<issue::IssueImport>, CliError> {
    let project_id = at.project().await?;
    let asked = ImportIssues {
        project_id,
        numbers: (!numbers.is_empty()).then_some(numbers),
        q: filter.search,
        labels: (!filter.label.is_empty()).then_some(filter.label),
        state: filter.state.map(states),
        into,
    };
    at.call(IssueImport, asked).await
}

async fn import_file(
    at: &At,
    file: &Path,
    (format, board): (Option<IssueFormat>, Option<String>),
    into: Option<String>,
) -> Result<Reply<issue::IssueImport>, CliError> {
    let content = std::fs::read(file).map_err(CliError::io(format!("read {}", file.display())))?;
    let name = file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let kind = format.map(|format| match format {
        IssueFormat::Markdown => IssueKind::Markdown,
        IssueFormat::Csv => IssueKind::Csv,
        IssueFormat::VibeKanban => IssueKind::VibeKanban,
    });
    let project_id = at.project().await?;
    let data = Some(BASE64_STANDARD.encode(content));
    at.call(IssueImportFile, ImportFile { project_id, name, kind, text: None, data, board, into }).await
}

/// Follows an import until it ended, waits or failed.
async fn until_it_rests(
    at: &At,
    started: Reply<issue::IssueImport>,
) -> Result<Reply<issue::IssueImport>, CliError> {
    let path = || ImportPath { import_id: started.id.clone() };
    let mut changes = at.connection.changes().await?;
    // What happened before the first event is seen by looking once.
    let mut import = at.call(IssueImportGet, path()).await?;
    while import.status == ImportStatus::Running {
        let Some(event) = changes.next().await else { break };
        let kind = event["type"].as_str().unwrap_or_default();
        if kind == EventType::IssueImportChanged.as_str() || kind == EventType::EventsResync.as_str() {
            import = at.call(IssueImportGet, path()).await?;
        }
    }
    Ok(import)
}

async fn imports(at: &At) -> Result<Answer, CliError> {
    let project_id = at.project().await?;
    let all = at.call(IssueImports, ProjectPath { project_id }).await?;
    let row = |it: &issue::IssueImport| {
        vec![
            it.id.to_string(),
            it.status.to_string(),
            it.source.clone(),
            outcomes(&it.counts),
            words::time(it.created_at),
            it.problem.clone().unwrap_or_default(),
        ]
    };
    let rows: Vec<Vec<String>> = all.items.iter().map(row).collect();
    let text = match rows.as_slice() {
        [] => "No imports.".to_owned(),
        rows => table(&["ID", "STATE", "SOURCE", "ISSUES", "STARTED", ""], rows),
    };
    Ok(Answer::new(all.json, text))
}

/// What is said of an import.
fn told(import: Reply<issue::IssueImport>, id: &IssueImportId) -> Answer {
    let mut lines = vec![format!("{}: {}, {}", import.source, import.status, outcomes(&import.counts))];
    lines.extend(import.problem.as_ref().map(|problem| format!("problem: {problem}")));
    lines.extend(import.remedy.as_ref().map(|remedy| format!("remedy: {remedy}")));
    lines.extend(import.failures.iter().map(|it| format!("failed: {} ({})", it.reference, it.message)));
    match import.status {
        ImportStatus::Running | ImportStatus::Waiting => lines.push("next: forge issue imports".to_owned()),
        ImportStatus::Failed => lines.push(format!("next: forge issue continue {id}")),
        ImportStatus::Done | ImportStatus::Cancelled => {}
    }
    let text = printable(&lines.join("\n"));
    Answer::new(import.json, text)
}

/// How many issues came to what, such as `3 issues: 2 created, 1 up to date`.
fn outcomes(counts: &ImportCounts) -> String {
    let open = counts.total.saturating_sub(
        counts.created + counts.updated + counts.unchanged + counts.differs + counts.skipped + counts.failed,
    );
    let parts = [
        (counts.created, "created"),
        (counts.updated, "updated"),
        (counts.unchanged, "up to date"),
        (counts.differs, "different from their task"),
        (counts.skipped, "closed and left out"),
        (counts.failed, "failed"),
        (open, "to go"),
    ];
    let said: Vec<String> =
        parts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")).collect();
    let total = counted(counts.total.into(), "issue", "issues");
    if said.is_empty() { total } else { format!("{total}: {}", said.join(", ")) }
}

fn shown(issue: &issue::TaskIssue, number: u32) -> String {
    let link = &issue.issue;
    let mut lines = vec![
        link.name.clone(),
        format!("state     {}", link.state),
        format!("imported  {}", words::time(issue.imported_at)),
    ];
    lines.extend(link.url.as_ref().map(|url| format!("link      {url}")));
    if !issue.labels.is_empty() {
        lines.push(format!("labels    {}", issue.labels.join(", ")));
    }
    if link.is_public {
        lines.push("public    starts only when you start it".to_owned());
    }
    if let Some(pending) = &issue.pending {
        lines.push("\nThe issue differs from the task:".to_owned());
        lines.extend(pending.title.as_ref().map(|title| format!("title: {title}")));
        lines.extend(pending.description.as_ref().map(|text| format!("description:\n{text}")));
        lines.push(format!("next: forge issue keep {number} issue|task"));
    }
    for unsent in &issue.unsent {
        let problem = unsent.problem.as_ref().map(|problem| format!(": {problem}")).unwrap_or_default();
        lines.push(format!("\nto be written to the issue: {}{problem}", unsent.kind));
        lines.extend(unsent.remedy.as_ref().map(|remedy| format!("remedy: {remedy}")));
    }
    for comment in &issue.comments {
        lines.push(format!("\n{}:\n{}", comment.author, comment.body.trim()));
    }
    printable(&lines.join("\n"))
}

const fn states(asked: IssueStates) -> IssueFilter {
    match asked {
        IssueStates::Open => IssueFilter::Open,
        IssueStates::Closed => IssueFilter::Closed,
        IssueStates::All => IssueFilter::All,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outcomes_name_what_there_is() {
        let none = ImportCounts::default();
        assert_eq!(outcomes(&none), "0 issues");
        let some = ImportCounts { total: 5, created: 2, unchanged: 1, ..none };
        assert_eq!(outcomes(&some), "5 issues: 2 created, 1 up to date, 2 to go");
        let one = ImportCounts { total: 1, failed: 1, ..none };
        assert_eq!(outcomes(&one), "1 issue: 1 failed");
    }
}
