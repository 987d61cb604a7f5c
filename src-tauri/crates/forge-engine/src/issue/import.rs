//! Imports that are under way, one step after the other: a page of issues is listed, or one issue is imported.
//!
//! What is written is in one transaction with how far the import is. A code host that asks to wait, or cannot be reached, is
//! asked again later; any other refusal stops the import until a person continues it. One issue that is missing stops
//! nothing.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use forge_hosts::{Host, HostError, IssueEtags, IssuePage};
use forge_model::issue::{
    COMMENT_MARK, ImportOutcome, ImportStatus, Issue, IssueComment, IssueOrigin, IssueQuery,
};
use forge_model::time::Timestamp;
use forge_store::table::issue_imports::{ImportItemRow, IssueImportRow};
use tokio::sync::Notify;

use super::{MOST_ISSUES, load, put, task};
use crate::{
    EngineError, World,
    core::{self, context::ProjectContext, sync::locked},
    error::Result,
    pull_request::hosts,
};

/// The first pause after the code host could not be reached; it doubles with each failure.
const FIRST_PAUSE_MS: i64 = 5_000;
/// The longest pause.
const LONGEST_PAUSE_MS: i64 = 15 * 60 * 1_000;

/// What this process keeps for imports.
#[derive(Default)]
pub(crate) struct Imports {
    changed: Arc<Notify>,
    /// Pages that were read, by source.
    known: Mutex<HashMap<String, IssueEtags>>,
}

/// Has imports looked at now.
pub(crate) fn wake(world: &World) {
    world.part::<Imports>().changed.notify_one();
}

/// Goes on with imports when they are due, from now on.
pub(crate) fn keep_importing(world: &World) {
    let changed = Arc::clone(&world.part::<Imports>().changed);
    core::due::keep_up(world, changed, "go on with imports of issues", async |world| {
        import_due(&world).await
    });
}

/// Goes on with every import until none is due. Says when the next one is.
pub(crate) async fn import_due(world: &World) -> Result<Option<Timestamp>> {
    loop {
        let open = world.store().read().await?.issue_imports().open().await?;
        let is_due = |row: &&IssueImportRow| row.retry_at.is_none_or(|at| at <= world.now());
        let Some(row) = open.iter().find(is_due) else {
            return Ok(open.iter().filter_map(|row| row.retry_at).min());
        };
        tokio::select! {
            () = world.inner.shutdown.cancelled() => return Ok(None),
            done = go_on(world, row) => {
                // What is wrong with one project holds up no other import.
                if let Err(error) = done {
                    tracing::error!(import = %row.id, %error, "failed to go on with an import of issues");
                    fail(world, row, &error).await?;
                }
            }
        }
    }
}

/// A page of issues; one that did not change since it was last read costs the code host nothing.
pub(crate) async fn read_page(
    world: &World,
    origin: &IssueOrigin,
    way: &dyn Host,
    query: &IssueQuery,
    page: u32,
) -> Result<IssuePage, HostError> {
    let imports = world.part::<Imports>();
    let mut known = locked(&imports.known).remove(&origin.key()).unwrap_or_default();
    let read = way.issues(query, page, &mut known).await;
    locked(&imports.known).insert(origin.key(), known);
    read
}

/// What a step of an import read.
enum Found {
    /// A page of issues.
    Page(IssuePage),
    /// An issue with its comments.
    Issue(ImportItemRow, Box<Issue>, Vec<IssueComment>),
    /// An issue that is not there, and why.
    Missing(ImportItemRow, String),
    /// Nothing is left.
    Nothing,
}

/// One step of an import.
async fn go_on(world: &World, row: &IssueImportRow) -> Result<()> {
    let context = core::contexts::context(world, &mut *world.store().read().await?, &row.project_id).await?;
    let item = match row.next_page {
        Some(_) => None,
        None => world.store().read().await?.issue_imports().next_item(&row.id).await?,
    };
    let found = match (&row.origin, item) {
        (_, None) if row.next_page.is_none() => Ok((row.is_public, Found::Nothing)),
        (IssueOrigin::Host { host }, item) => {
            async {
                let way = hosts::host(world, &context, host).await?;
                let is_public = match row.is_public {
                    Some(known) => known,
                    None => way.is_public().await?,
                };
                Ok((Some(is_public), ask(world, row, way, item).await?))
            }
            .await
        }
        (IssueOrigin::File { .. }, Some(mut item)) => Ok((
            row.is_public,
            match item.issue.take() {
                Some(issue) => Found::Issue(item, Box::new(issue), Vec::new()),
                None => Found::Missing(item, "its text is missing".to_owned()),
            },
        )),
        (IssueOrigin::File { .. }, None) => Ok((row.is_public, Found::Nothing)),
    };
    match found {
        Ok((is_public, found)) => write(world, &context, row, is_public, found).await,
        Err(error) => wait_or_fail(world, row, &error).await,
    }
}

/// Asks the code host for the next page, or for an issue.
async fn ask(
    world: &World,
    row: &IssueImportRow,
    way: Arc<dyn Host>,
    item: Option<ImportItemRow>,
) -> Result<Found, HostError> {
    let Some(mut item) = item else {
        let query = row.query.clone().unwrap_or_default();
        let page = row.next_page.unwrap_or(1);
        return Ok(Found::Page(read_page(world, &row.origin, way.as_ref(), &query, page).await?));
    };
    let Ok(number) = item.reference.parse() else {
        return Ok(Found::Missing(item, "it has no number".to_owned()));
    };
    let issue = match item.issue.take() {
        Some(issue) => issue,
        None => match way.issue(number).await {
            Ok(issue) => issue,
            Err(error @ HostError::NotFound { .. }) => return Ok(Found::Missing(item, error.to_string())),
            Err(error) => return Err(error),
        },
    };
    let mut comments = match issue.comment_count {
        0 => Vec::new(),
        count => way.issue_comments(number, count).await?,
    };
    // Agents are not told what Forge itself wrote.
    comments.retain(|comment| !comment.body.contains(COMMENT_MARK));
    Ok(Found::Issue(item, Box::new(issue), comments))
}

/// Writes what a step found, unless the import was stopped meanwhile.
async fn write(
    world: &World,
    context: &ProjectContext,
    row: &IssueImportRow,
    is_public: Option<bool>,
    found: Found,
) -> Result<()> {
    let mut tx = world.store().write().await?;
    let mut row = load(&mut tx, &row.id).await?;
    if row.finished_at.is_some() {
        return Ok(());
    }
    row.is_public = is_public;
    row.status = ImportStatus::Running;
    (row.problem, row.remedy, row.retry_at, row.failures) = (None, None, None, 0);
    let mut is_new = false;
    match found {
        Found::Page(page) => {
            let listed = tx.issue_imports().counts(&row.id).await?.total as usize;
            for issue in page.issues.iter().take(MOST_ISSUES.saturating_sub(listed)) {
                tx.issue_imports_mut().add_item(&row.id, &issue.reference, Some(issue)).await?;
            }
            let more = page.more && listed + page.issues.len() < MOST_ISSUES;
            row.next_page = row.next_page.filter(|_| more).map(|page| page.saturating_add(1));
        }
        Found::Issue(item, issue, comments) => {
            let is_chosen = row.query.is_none() && matches!(row.origin, IssueOrigin::Host { .. });
            let (outcome, task) =
                task::take_issue(world, &mut tx, context, &row, (&issue, comments), is_chosen).await?;
            is_new = outcome == ImportOutcome::Created;
            let end = (outcome, task.as_ref());
            tx.issue_imports_mut().finish_item(&row.id, item.position, end, None).await?;
        }
        Found::Missing(item, why) => {
            let end = (ImportOutcome::Failed, None);
            tx.issue_imports_mut().finish_item(&row.id, item.position, end, Some(&why)).await?;
        }
        Found::Nothing => (row.status, row.finished_at) = (ImportStatus::Done, Some(world.now())),
    }
    put(world, &mut tx, &row).await?;
    tx.commit().await?;
    world.point("issue.step");
    if is_new {
        core::scheduler::look_for_work(world);
    }
    Ok(())
}

/// Stops an import until a person continues it: Forge itself could not go on.
async fn fail(world: &World, row: &IssueImportRow, error: &EngineError) -> Result<()> {
    let mut tx = world.store().write().await?;
    let mut row = load(&mut tx, &row.id).await?;
    if row.finished_at.is_none() {
        (row.status, row.retry_at) = (ImportStatus::Failed, None);
        row.problem = Some(error.to_string());
        row.remedy = Some("check the project's settings and repository, then continue the import".to_owned());
        put(world, &mut tx, &row).await?;
    }
    tx.commit().await?;
    Ok(())
}

/// Has an import wait for what may pass, or for a person.
async fn wait_or_fail(world: &World, row: &IssueImportRow, error: &HostError) -> Result<()> {
    let mut tx = world.store().write().await?;
    let mut row = load(&mut tx, &row.id).await?;
    if row.finished_at.is_some() {
        return Ok(());
    }
    (row.problem, row.remedy) = (Some(error.to_string()), Some(hosts::remedy(error)));
    if error.is_passing() {
        let until = match error {
            HostError::RateLimited { until } => Some(*until),
            _ => None,
        };
        row.status = ImportStatus::Waiting;
        row.retry_at = Some(next_try(world, until, row.failures));
        row.failures = row.failures.saturating_add(1);
    } else {
        (row.status, row.retry_at) = (ImportStatus::Failed, None);
    }
    put(world, &mut tx, &row).await?;
    tx.commit().await?;
    Ok(())
}

/// When the code host is asked again after so many failures.
pub(crate) fn next_try(world: &World, until: Option<Timestamp>, failures: u32) -> Timestamp {
    let pause = FIRST_PAUSE_MS.saturating_mul(1 << failures.min(16)).min(LONGEST_PAUSE_MS);
    let sooner = world.now().plus_ms(pause / i64::from(world.inner.config.host_pace.max(1)));
    until.unwrap_or(sooner).max(world.now().plus_ms(1))
}
