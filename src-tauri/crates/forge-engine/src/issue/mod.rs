//! Issues: tasks that come from a code host or a file.
//!
//! This file has what people do about them. An import is written down before anything is asked of a code host, and each
//! issue has a transaction of its own (`issue/import.rs`), so that a kill or an error loses nothing and repeats nothing. What
//! becomes of one issue is decided in `issue/task.rs`. What a project does automatically is in `issue/rule.rs` (importing) and
//! `issue/report.rs` (writing to the code host).

pub(crate) mod contribution;
mod file;
mod import;
mod report;
mod rule;
mod task;

use forge_hosts::HostError;
use forge_model::event::EventType;
use forge_model::ids::{IssueImportId, ProjectId, TaskId};
use forge_model::issue::{
    ImportStatus, IssueChoice, IssueImport, IssueKind, IssueListing, IssueOrigin, IssueQuery, ListedIssue,
    TaskIssue, TaskText,
};
use forge_model::task::Task;
use forge_model::workflow::{State, StateKind};
use forge_store::table::issue_imports::IssueImportRow;
use forge_store::{ReadConnection, Tx};
use serde_json::{Value, json};

use crate::{
    ConflictCode, EngineError, Work, World,
    core::{self, context::ProjectContext},
    error::Result,
    pull_request::hosts::{self, NoHost},
    read,
};

/// The most issues of one import.
const MOST_ISSUES: usize = 2_000;
/// That many imports of a project that ended are kept, and listed.
const KEPT_IMPORTS: u32 = 20;
/// That many issues that could not be imported are told.
const MOST_FAILURES: u32 = 20;

/// An import to begin.
#[derive(Debug, Clone)]
pub struct NewImport {
    /// The issues.
    pub from: ImportFrom,
    /// The state that new tasks are created in: one of kind `backlog` or `initial`. When absent, the first of kind
    /// `backlog`, else the initial state.
    pub into: Option<String>,
}

/// Which issues to import.
#[derive(Debug, Clone)]
pub enum ImportFrom {
    /// Those of the project's code host with these numbers.
    Numbers(Vec<u32>),
    /// All of the project's code host that a query finds.
    Query(IssueQuery),
    /// Those of a file.
    File {
        /// Its format; as its name ends when absent.
        kind: Option<IssueKind>,
        /// Its name. A later import of a file with the same name finds its tasks again.
        name: String,
        /// Its content.
        content: Vec<u8>,
        /// Of a database with several projects, the name of the one that is meant.
        project: Option<String>,
    },
}

/// A page of the issues of a project's code host.
pub(crate) async fn issues(
    world: &World,
    project: &ProjectId,
    query: &IssueQuery,
    page: u32,
) -> Result<IssueListing> {
    let context = core::contexts::context(world, &mut *world.store().read().await?, project).await?;
    let origin = host_origin(world, &context).await?;
    let IssueOrigin::Host { host } = &origin else { return Err(no_host("no code host")) };
    let read = async {
        let way = hosts::host(world, &context, host).await?;
        import::read_page(world, &origin, way.as_ref(), query, page).await
    };
    let found = read.await.map_err(|error: HostError| unavailable(&error))?;
    let references: Vec<&str> = found.issues.iter().map(|issue| issue.reference.as_str()).collect();
    let mut conn = world.store().read().await?;
    let mut tasks = conn.issue_sources().tasks_of(project, &origin.key(), &references).await?;
    let items = found.issues.into_iter().map(|issue| {
        let (task_id, task_number) = tasks.remove(&issue.reference).unzip();
        ListedIssue { issue, task_id, task_number }
    });
    Ok(IssueListing {
        kind: origin.kind(),
        source: origin.name(),
        items: items.collect(),
        next_page: found.more.then(|| page.saturating_add(1)),
    })
}

/// Begins to import issues.
pub(crate) async fn import_issues(world: &World, project: &ProjectId, new: NewImport) -> Result<IssueImport> {
    let context = core::contexts::context(world, &mut *world.store().read().await?, project).await?;
    let state = new_state(&context, new.into.as_deref())?.name.clone();
    let (origin, query, items) = match new.from {
        ImportFrom::Numbers(numbers) => {
            if numbers.is_empty() || numbers.len() > MOST_ISSUES {
                let message = format!("must name 1 to {MOST_ISSUES} issues");
                return Err(EngineError::invalid("numbers", message));
            }
            let items = numbers.into_iter().map(|number| (number.to_string(), None)).collect();
            (host_origin(world, &context).await?, None, items)
        }
        ImportFrom::Query(query) => (host_origin(world, &context).await?, Some(query), Vec::new()),
        ImportFrom::File { kind, name, content, project } => {
            let (origin, issues) = file::read_file(world, kind, &name, (content, project)).await?;
            let items = issues.into_iter().map(|issue| (issue.reference.clone(), Some(issue)));
            (origin, None, items.collect::<Vec<_>>())
        }
    };
    let row = IssueImportRow {
        id: world.new_id(),
        project_id: project.clone(),
        is_public: matches!(origin, IssueOrigin::File { .. }).then_some(false),
        origin,
        next_page: query.is_some().then_some(1),
        query,
        state,
        status: ImportStatus::Running,
        problem: None,
        remedy: None,
        retry_at: None,
        failures: 0,
        created_at: world.now(),
        finished_at: None,
    };
    let mut tx = world.store().write().await?;
    tx.issue_imports_mut().prune(project, KEPT_IMPORTS).await?;
    put(world, &mut tx, &row).await?;
    for (reference, issue) in &items {
        tx.issue_imports_mut().add_item(&row.id, reference, issue.as_ref()).await?;
    }
    tx.commit().await?;
    go_on(world).await?;
    issue_import(world, &row.id).await
}

/// The latest imports of a project, newest first.
pub(crate) async fn issue_imports(world: &World, project: &ProjectId) -> Result<Vec<IssueImport>> {
    let mut conn = world.store().read().await?;
    core::contexts::context(world, &mut conn, project).await?;
    let mut all = Vec::new();
    for row in conn.issue_imports().of_project(project, KEPT_IMPORTS).await? {
        all.push(view(&mut conn, row).await?);
    }
    Ok(all)
}

/// One import.
pub(crate) async fn issue_import(world: &World, id: &IssueImportId) -> Result<IssueImport> {
    let mut conn = world.store().read().await?;
    let row = load(&mut conn, id).await?;
    view(&mut conn, row).await
}

/// Stops an import. One that ended stays as it is.
pub(crate) async fn cancel_import(world: &World, id: &IssueImportId) -> Result<IssueImport> {
    change(world, id, |row| {
        if row.finished_at.is_none() {
            (row.status, row.finished_at) = (ImportStatus::Cancelled, Some(world.now()));
            row.retry_at = None;
        }
    })
    .await
}

/// Continues an import that failed or waits, now.
pub(crate) async fn continue_import(world: &World, id: &IssueImportId) -> Result<IssueImport> {
    change(world, id, |row| {
        if matches!(row.status, ImportStatus::Failed | ImportStatus::Waiting) {
            row.status = ImportStatus::Running;
            (row.problem, row.remedy) = (None, None);
            (row.retry_at, row.finished_at, row.failures) = (None, None, 0);
        }
    })
    .await?;
    go_on(world).await?;
    issue_import(world, id).await
}

/// The issue that a task was imported from.
pub(crate) async fn task_issue(world: &World, id: &TaskId) -> Result<Option<TaskIssue>> {
    let mut conn = world.store().read().await?;
    core::load::load(world, &mut conn, id, None).await?;
    let unsent = conn.issue_reports().unsent(id).await?.into_iter().map(report::unsent).collect();
    Ok(conn.issue_sources().get(id).await?.map(|row| TaskIssue {
        unsent,
        issue: row.link(),
        labels: row.labels,
        comments: row.comments,
        pending: row.pending,
        imported_at: row.imported_at,
    }))
}

/// Decides which text a task keeps where its issue says something else.
pub(crate) async fn resolve_issue(
    world: &World,
    id: &TaskId,
    version: Option<u32>,
    keep: IssueChoice,
) -> Result<Task> {
    let mut tx = world.store().write().await?;
    let (mut row, _) = core::load::load_own(world, &mut tx, id, version).await?;
    let source = tx.issue_sources().get(id).await?;
    let Some((mut source, pending)) = source.and_then(|mut it| it.pending.take().map(|text| (it, text)))
    else {
        let message = "the task does not differ from an issue";
        return Err(EngineError::conflict(ConflictCode::NothingToResolve, message));
    };
    // Whatever is kept, this is what later changes of the issue are compared with.
    let TaskText { title, description } = &mut source.imported;
    for (own, imported, theirs) in
        [(&mut row.title, title, pending.title), (&mut row.description, description, pending.description)]
    {
        let Some(theirs) = theirs else { continue };
        if keep == IssueChoice::Issue {
            own.clone_from(&theirs);
        }
        *imported = theirs;
    }
    tx.issue_sources_mut().put(&source).await?;
    tx.tasks_mut().update(&mut row, world.now()).await?;
    world.emit(&mut tx, EventType::TaskUpdated, &row, id.as_str(), &Value::Null).await?;
    let view = read::view::view_one(world, &mut tx, row).await?;
    tx.commit().await?;
    Ok(view)
}

/// Tries now what could not be written to the issue of a task.
pub(crate) async fn retry_reports(world: &World, id: &TaskId) -> Result<Option<TaskIssue>> {
    report::retry_reports(world, id).await?;
    task_issue(world, id).await
}

/// The state that an import creates tasks in.
fn new_state<'c>(context: &'c ProjectContext, named: Option<&str>) -> Result<&'c State> {
    let states = || context.workflow.states.iter().filter(|state| takes_new(state));
    let of_kind = |kind: StateKind| states().find(|state| state.kind == kind);
    let found = match named {
        Some(name) => states().find(|state| state.name == name),
        None => of_kind(StateKind::Backlog).or_else(|| of_kind(StateKind::Initial)),
    };
    found.ok_or_else(|| {
        let known: Vec<&str> = states().map(|state| state.name.as_str()).collect();
        EngineError::invalid("into", format!("must be one of {}", known.join(", ")))
    })
}

/// Whether tasks that nobody has begun stand in a state.
pub(crate) const fn takes_new(state: &State) -> bool {
    matches!(state.kind, StateKind::Backlog | StateKind::Initial)
}

async fn host_origin(world: &World, context: &ProjectContext) -> Result<IssueOrigin> {
    let repo = core::repository::repo(world, context).await?;
    match hosts::code_host(context, &repo).await? {
        Ok(host) => Ok(IssueOrigin::Host { host }),
        Err(NoHost { problem, remedy }) => Err(no_host(&format!("{problem}: {remedy}"))),
    }
}

fn no_host(message: &str) -> EngineError {
    EngineError::conflict(ConflictCode::NoCodeHost, message)
}

fn unavailable(error: &HostError) -> EngineError {
    let message = format!("{error}; {}", hosts::remedy(error));
    EngineError::conflict(ConflictCode::HostUnavailable, message)
}

async fn load(conn: &mut ReadConnection, id: &IssueImportId) -> Result<IssueImportRow> {
    conn.issue_imports().get(id).await?.ok_or_else(|| EngineError::not_found("import", id))
}

async fn view(conn: &mut ReadConnection, row: IssueImportRow) -> Result<IssueImport> {
    Ok(IssueImport {
        counts: conn.issue_imports().counts(&row.id).await?,
        failures: conn.issue_imports().failures(&row.id, MOST_FAILURES).await?,
        kind: row.origin.kind(),
        source: row.origin.name(),
        id: row.id,
        project_id: row.project_id,
        state: row.state,
        status: row.status,
        problem: row.problem,
        remedy: row.remedy,
        retry_at: row.retry_at,
        created_at: row.created_at,
        finished_at: row.finished_at,
    })
}

/// Writes how far an import is, and tells of it.
async fn put(world: &World, tx: &mut Tx, row: &IssueImportRow) -> Result<()> {
    tx.issue_imports_mut().put(row).await?;
    let facts = json!({ "status": row.status });
    let kind = EventType::IssueImportChanged;
    tx.emit(kind, world.now(), Some(&row.project_id), None, row.id.as_str(), &facts).await?;
    Ok(())
}

async fn change(
    world: &World,
    id: &IssueImportId,
    change: impl FnOnce(&mut IssueImportRow),
) -> Result<IssueImport> {
    let mut tx = world.store().write().await?;
    let mut row = load(&mut tx, id).await?;
    change(&mut row);
    put(world, &mut tx, &row).await?;
    let view = view(&mut tx, row).await?;
    tx.commit().await?;
    Ok(view)
}

/// Has imports go on. An engine that ends with its command does not leave before there is nothing to do now.
async fn go_on(world: &World) -> Result<()> {
    if world.inner.config.work == Work::All {
        import::wake(world);
        return Ok(());
    }
    import::import_due(world).await.map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::testing;

    #[test]
    fn tasks_are_created_where_nobody_has_begun() {
        let context = testing::project(testing::plain());
        let named = |name| new_state(&context, name).map(|state| state.name.clone());
        assert_eq!(named(None).unwrap(), "backlog");
        assert_eq!(named(Some("todo")).unwrap(), "todo");
        assert!(named(Some("in_progress")).is_err() && named(Some("nowhere")).is_err());
    }
}
