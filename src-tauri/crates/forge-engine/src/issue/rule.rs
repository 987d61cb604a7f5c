//! Issues that a project imports automatically: the code host is asked by the project's rule, and an import begins when the
//! list is not as it was.
//!
//! What was seen is kept in memory alone: a new process looks once more, and an import repeats nothing.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use forge_hosts::HostError;
use forge_model::ids::ProjectId;
use forge_model::issue::{IssueFilter, IssueOrigin, IssueQuery, IssueRule, IssueState};
use forge_model::time::Timestamp;
use tokio::sync::Notify;

use super::{
    ImportFrom, MOST_ISSUES, NewImport, host_origin,
    import::{next_try, read_page},
};
use crate::{
    World,
    core::{self, context::ProjectContext, sync::locked},
    error::Result,
    pull_request::hosts,
};

/// Milliseconds of a minute.
const MINUTE_MS: i64 = 60 * 1_000;

/// Issues as a list showed them: each with its last change and its state.
type Seen = Vec<(String, Option<Timestamp>, IssueState)>;

/// What was seen by a rule.
#[derive(Debug, Clone)]
struct Look {
    rule: IssueRule,
    next: Timestamp,
    failures: u32,
    seen: Option<Seen>,
}

/// The looks of this process, by project.
#[derive(Default)]
pub(crate) struct Rules {
    changed: Arc<Notify>,
    looks: Mutex<HashMap<ProjectId, Look>>,
}

/// Has the rules of all projects read again.
pub(crate) fn wake(world: &World) {
    world.part::<Rules>().changed.notify_one();
}

/// Follows the rules of all projects from now on.
pub(crate) fn keep_following(world: &World) {
    let changed = Arc::clone(&world.part::<Rules>().changed);
    core::due::keep_up(world, changed, "look for issues to import", async |world| {
        look_where_due(&world).await
    });
}

/// Looks for every project whose rule says so now. Says when the next look is.
async fn look_where_due(world: &World) -> Result<Option<Timestamp>> {
    let rules = world.part::<Rules>();
    let all = world.store().read().await?.projects().list().await?;
    locked(&rules.looks).retain(|id, _| all.iter().any(|row| row.project.id == *id));
    let mut next: Option<Timestamp> = None;
    for row in all {
        let id = row.project.id;
        let context = core::contexts::context(world, &mut *world.store().read().await?, &id).await;
        let context =
            context.inspect_err(|error| tracing::error!(project = %id, %error, "failed to read a project"));
        let rule = context.as_ref().ok().and_then(|context| context.settings.issues.rule.clone());
        let (Ok(context), Some(rule)) = (context, rule) else {
            locked(&rules.looks).remove(&id);
            continue;
        };
        let known = locked(&rules.looks).get(&id).filter(|look| look.rule == rule).cloned();
        let mut look = known.unwrap_or_else(|| Look { rule, next: world.now(), failures: 0, seen: None });
        if look.next <= world.now() {
            tokio::select! {
                () = world.inner.shutdown.cancelled() => return Ok(None),
                done = look_now(world, &context, &mut look) => done?,
            }
        }
        next = Some(next.map_or(look.next, |next| next.min(look.next)));
        locked(&rules.looks).insert(id, look);
    }
    Ok(next)
}

async fn look_now(world: &World, context: &ProjectContext, look: &mut Look) -> Result<()> {
    let query = IssueQuery {
        text: None,
        labels: look.rule.labels.clone(),
        // Those that were closed meanwhile, too: their tasks show it.
        state: IssueFilter::All,
    };
    let seen = match host_origin(world, context).await {
        Ok(origin) => see(world, context, &origin, &query).await,
        Err(error) => Err(HostError::Protocol { what: error.to_string() }),
    };
    let pace = i64::from(world.inner.config.host_pace.max(1));
    let usual = world.now().plus_ms(i64::from(look.rule.every_minutes) * MINUTE_MS / pace);
    match seen {
        Ok(seen) => {
            (look.next, look.failures) = (usual, 0);
            if look.seen.as_ref() != Some(&seen) {
                if !seen.is_empty() {
                    begin(world, context, look, query).await?;
                }
                look.seen = Some(seen);
            }
        }
        Err(error) => {
            tracing::warn!(project = %context.project.id, %error, "failed to look for issues to import");
            // An import that fails shows a person why, once.
            if !error.is_passing() && look.failures == 0 {
                begin(world, context, look, query).await?;
            }
            let until = if let HostError::RateLimited { until } = error { Some(until) } else { None };
            look.next = next_try(world, until, look.failures).max(usual);
            look.failures = look.failures.saturating_add(1);
        }
    }
    Ok(())
}

async fn see(
    world: &World,
    context: &ProjectContext,
    origin: &IssueOrigin,
    query: &IssueQuery,
) -> Result<Seen, HostError> {
    let IssueOrigin::Host { host } = origin else { return Ok(Vec::new()) };
    let way = hosts::host(world, context, host).await?;
    let mut seen = Vec::new();
    for page in 1.. {
        let found = read_page(world, origin, way.as_ref(), query, page).await?;
        seen.extend(found.issues.into_iter().map(|issue| (issue.reference, issue.updated_at, issue.state)));
        if !found.more || seen.len() >= MOST_ISSUES {
            break;
        }
    }
    Ok(seen)
}

async fn begin(world: &World, context: &ProjectContext, look: &Look, query: IssueQuery) -> Result<()> {
    let new = NewImport { from: ImportFrom::Query(query), into: look.rule.into.clone() };
    if let Err(error) = super::import_issues(world, &context.project.id, new).await {
        tracing::warn!(project = %context.project.id, %error, "failed to import issues by the project's rule");
    }
    Ok(())
}
