//! The race of a task, from its start to the winner's work on the task's branch.
//!
//! The step never stays: it does what can be done now, records it, and waits; the end of an entry, an entry's time
//! limit, and a person's decision run it again. So it may be killed at any moment, and finds where it was. What is
//! left of a race once it is over is in `race/left.rs`.

use forge_git::Landing;
use forge_model::actor::Actor;
use forge_model::event::EventType;
use forge_model::ids::TaskId;
use forge_model::inner_loop::Competitive;
use forge_model::notification::NotificationKind;
use forge_model::postmortem::PostmortemCause;
use forge_model::race::{Race, RaceEntryStatus, RaceStatus};
use forge_model::task::{AnnotationType, HolderKind, RoleHolder, WaitReason};
use forge_model::time::Timestamp;
use forge_model::transition::{StepKind, StepStatus};
use forge_model::workflow::{Audience, Phase, StateKind};
use forge_store::Tx;
use forge_store::table::steps::StepRow;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::{
    World,
    core::{
        self,
        block_reason::BlockReason,
        context::task_branch,
        leaving::Leave,
        lineage::is_entry,
        moves::Move,
        world::{
            cx::Cx,
            features::{Entering, Moved},
            step::{Effect, End, Stepping},
        },
    },
    error::Result,
    fix,
    race::{
        SECOND_MS,
        entries::{record_ended_entries, start_entries},
        is_entry_over, tell_apart,
    },
    trust, workspace,
};

/// What the end of a race leads to; in the parameters of its step.
const THEN_ACCEPT: &str = "accept";

/// The steps of a race, where entering a state starts one.
pub(crate) async fn race_steps(tx: &mut Tx, entering: Entering<'_>) -> Result<Option<Vec<StepRow>>> {
    let Entering { context, task, state, row, .. } = entering;
    if !super::enters_race(tx, context, task, state).await? {
        return Ok(None);
    }
    let own = |kind, phase: Phase, params: Option<Value>| {
        let mut step = StepRow::pending(&task.id, &state.name, kind, phase.as_str());
        step.transition_seq = Some(row.seq);
        step.params = params;
        step
    };
    Ok(Some(vec![
        own(StepKind::Race, Phase::BeforeEnter, None),
        own(StepKind::Promote, Phase::BeforeEnter, None),
        own(StepKind::PrepareWorkspace, Phase::BeforeEnter, None),
        own(StepKind::ClearBarrier, Phase::BeforeEnter, None),
        own(StepKind::EndRace, Phase::AfterEnter, Some(Value::from(THEN_ACCEPT))),
    ]))
}

/// Goes on with the task's race, or begins one.
pub(crate) async fn run_race(world: &World, s: &Stepping) -> Result<End> {
    let open = {
        let mut conn = world.store().read().await?;
        conn.races().last(&s.task.id).await?.filter(|race| !race.status.is_over())
    };
    let race = match open {
        Some(race) => race,
        None => {
            let Some(config) = s.context.race_of(&s.task) else {
                return Ok(End::skipped("the race is over"));
            };
            match begin_race(world, s, &config).await? {
                Ok(race) => race,
                Err(trouble) => return Ok(End::Block(*trouble)),
            }
        }
    };
    match race.status {
        RaceStatus::Running => go_on_racing(world, s, race).await,
        RaceStatus::AwaitingCrown => Ok(waits_for_choice(&race)),
        RaceStatus::Decided | RaceStatus::Promoted | RaceStatus::NoWinner | RaceStatus::Cancelled => {
            Ok(End::Ok(race.winner.map(|winner| format!("{winner} won"))))
        }
    }
}

async fn begin_race(
    world: &World,
    s: &Stepping,
    config: &Competitive,
) -> Result<std::result::Result<Race, Box<BlockReason>>> {
    let repo = core::repository::repo(world, &s.context).await?;
    let own = repo.resolve(&format!("refs/heads/{}", task_branch(&s.task))).await?;
    let target = s.context.target_branch(&s.task);
    let base = match own {
        Some(commit) => Some(commit),
        None => repo.resolve(&format!("refs/heads/{target}")).await?,
    };
    let unready =
        |message: String| Ok(Err(Box::new(BlockReason::new(AnnotationType::EnvironmentNotReady, message))));
    let Some(base) = base else { return unready(format!("no branch `{target}`")) };
    trust::require_trust_of(world, &s.context, &s.task, None).await?;
    let mut tx = world.store().write().await?;
    let strategies = tell_apart(super::strategies_of(&mut tx, config).await?);
    if strategies.is_empty() {
        return unready("could not race: no agent is enabled, and no strategy is set".to_owned());
    }
    let enabled = s.context.settings.inner_loop.reviewer.enabled;
    let reviewer = reviewer_of(&mut tx, s).await?.filter(|_| enabled);
    let entries =
        super::make_entries(&mut Cx::of(world, &mut tx), &s.context, &s.task, &strategies, reviewer.as_ref())
            .await?;
    let number = tx.races().last(&s.task.id).await?.map_or(1, |last| last.number + 1);
    let race = Race {
        id: world.new_id(),
        task_id: s.task.id.clone(),
        number,
        status: RaceStatus::Running,
        base_commit: base,
        reviewer_enabled: reviewer.is_some(),
        max_parallel: config.max_parallel,
        timeout_sec: config.timeout_sec,
        human_crown: config.human_crown,
        name_decides: config.name_decides,
        keep_losers_days: config.keep_losers_days,
        entries,
        elected: None,
        decided_by: None,
        trail: Vec::new(),
        winner: None,
        crowned_by: None,
        error: None,
        started_at: world.now(),
        finished_at: None,
        losers_until: None,
    };
    tx.races_mut().put(&race).await?;
    let names: Vec<&str> = race.entries.iter().map(|entry| entry.strategy.as_str()).collect();
    let facts = json!({ "number": race.number, "entries": names });
    world.emit(&mut tx, EventType::RaceStarted, &s.task, race.id.as_str(), &facts).await?;
    tx.commit().await?;
    world.point("race.started");
    Ok(Ok(race))
}

/// The agent that judges the task's work, if one does.
async fn reviewer_of(tx: &mut Tx, s: &Stepping) -> Result<Option<RoleHolder>> {
    let gate = s.context.workflow.review_gate();
    let Some(role) = gate.filter(|gate| gate.audits()).and_then(|gate| gate.role.as_deref()) else {
        return Ok(None);
    };
    let holder = tx.roles().holder(&s.task.id, role).await?;
    Ok(holder.filter(|holder| holder.kind == HolderKind::Agent))
}

async fn go_on_racing(world: &World, s: &Stepping, mut race: Race) -> Result<End> {
    let context = s.context.for_entries()?;
    record_ended_entries(world, s, &context, &mut race).await?;
    if !s.task.held {
        start_entries(world, s, &context, &mut race).await?;
    }
    let over = race.entries.iter().filter(|entry| entry.status.is_over()).count();
    if over < race.entries.len() {
        if let Some(deadline) = next_deadline(&race) {
            core::workers::kick_at(world, &s.task.id, deadline);
        }
        let message = format!("{over} of {} entries finished", race.entries.len());
        return Ok(End::wait(WaitReason::RaceRunning, message));
    }
    elect(world, s, race).await
}

/// Applies the rules to what is known of the entries: who won, and where the race is with that.
fn decide(race: &mut Race) {
    race.elect();
    race.winner = race.elected.clone().filter(|_| !race.is_without_evidence());
    race.status = match &race.elected {
        None => RaceStatus::NoWinner,
        Some(_) if race.needs_choice() => RaceStatus::AwaitingCrown,
        Some(_) => RaceStatus::Decided,
    };
}

async fn elect(world: &World, s: &Stepping, mut race: Race) -> Result<End> {
    decide(&mut race);
    let (kind, body) = match (&race.elected, race.status) {
        (Some(_), RaceStatus::AwaitingCrown) => (EventType::RaceElected, choice_of(&race)),
        (Some(winner), _) => (EventType::RaceElected, format!("{winner} won the race.")),
        (None, _) => (EventType::RaceFailed, "No entry passed the race.".to_owned()),
    };
    race.finished_at = race.elected.is_none().then(|| world.now());
    let planned = match race.elected {
        None => super::fixes::plan_drafts_of_race(world, &s.context, &race).await,
        Some(_) => Vec::new(),
    };
    let mut tx = world.store().write().await?;
    tx.races_mut().put(&race).await?;
    let mut drafts = Vec::new();
    for draft in planned {
        if tx.fixes_mut().begin_draft(&draft).await? {
            drafts.push(draft);
        }
    }
    if race.elected.is_none() {
        core::world::features::given_up(world, &mut tx, &s.task, PostmortemCause::GateFailed, None).await?;
    }
    let facts = json!({
        "winner": race.winner, "elected": race.elected, "decidedBy": race.decided_by,
        "awaits_choice": race.status == RaceStatus::AwaitingCrown,
    });
    world.emit(&mut tx, kind, &s.task, race.id.as_str(), &facts).await?;
    if race.elected.is_some() {
        let cause = format!("race:{}", race.id);
        core::notices::notify(
            world,
            &mut tx,
            &s.context,
            &s.task,
            NotificationKind::RaceDecided,
            &body,
            &cause,
        )
        .await?;
    }
    tx.commit().await?;
    world.point("race.elected");
    drafts.into_iter().for_each(|draft| fix::start_draft(world, draft));
    Ok(match race.status {
        RaceStatus::AwaitingCrown => waits_for_choice(&race),
        RaceStatus::NoWinner => {
            let mut trouble = BlockReason::new(AnnotationType::RaceNoWinner, body);
            trouble.details = json!({ "race": race.id, "trail": race.trail });
            End::Block(trouble)
        }
        _ => End::Ok(race.winner.map(|winner| format!("{winner} won"))),
    })
}

/// Makes the winner's commits the task's branch. Done again after a kill, it finds them there.
pub(crate) async fn promote(world: &World, s: &Stepping) -> Result<End> {
    let race = {
        let mut conn = world.store().read().await?;
        conn.races().last(&s.task.id).await?
    };
    let Some(mut race) = race.filter(|race| race.status == RaceStatus::Decided) else {
        return Ok(End::skipped("no race has a winner"));
    };
    let winner = race.winner.as_deref().and_then(|name| race.entry(name)).cloned();
    let Some((winner, commit)) = winner.and_then(|entry| Some((entry.clone(), entry.commit?))) else {
        return not_promoted(world, s, race, "the winner has no commit".to_owned()).await;
    };
    let repo = core::repository::repo(world, &s.context).await?;
    let branch = task_branch(&s.task);
    let now = repo.resolve(&format!("refs/heads/{branch}")).await?;
    let moved = match &now {
        Some(now) if *now == commit => None,
        // It begins where the race did, or nowhere yet.
        Some(now) if *now != race.base_commit => Some(now.clone()),
        before => {
            let before = before.as_deref().unwrap_or_default();
            let reason = format!("forge: {} won the race", winner.strategy);
            match repo.land(&branch, &commit, before, &reason).await? {
                Landing::Landed => None,
                Landing::Moved { now } => Some(now.unwrap_or_default()),
                Landing::CheckoutInTheWay { worktree, files } => {
                    let what =
                        format!("{} has uncommitted changes: {}", worktree.display(), files.join(", "));
                    return not_promoted(world, s, race, what).await;
                }
                Landing::IndexLocked { path, .. } => {
                    workspace::watch::watch_lock_file(world, &s.task.id, &path);
                    return Ok(End::wait(WaitReason::GitLocked, format!("{} is held", path.display())));
                }
            }
        }
    };
    if let Some(now) = moved {
        let what = format!("the branch {branch} moved to {} meanwhile", now.get(..10).unwrap_or(&now));
        return not_promoted(world, s, race, what).await;
    }
    world.point("race.landed");
    race.status = RaceStatus::Promoted;
    race.finished_at = Some(world.now());
    race.error = None;
    let mut tx = world.store().write().await?;
    tx.races_mut().put(&race).await?;
    if let Some(role) = s.context.work_role() {
        let coder = RoleHolder { kind: HolderKind::Agent, id: Some(winner.agent_id.clone()) };
        tx.roles_mut().put(&s.task.id, role, Some(&coder)).await?;
    }
    if let Some(mut task) = tx.tasks().get(&s.task.id).await? {
        task.diff_stat = winner.diff_stat;
        tx.tasks_mut().update(&mut task, world.now()).await?;
    }
    let facts = json!({ "winner": winner.strategy, "commit": commit });
    world.emit(&mut tx, EventType::RacePromoted, &s.task, race.id.as_str(), &facts).await?;
    tx.commit().await?;
    world.point("race.promoted");
    Ok(End::Ok(Some(format!("{} is the winner", winner.strategy))))
}

async fn not_promoted(world: &World, s: &Stepping, mut race: Race, what: String) -> Result<End> {
    race.error = Some(what.clone());
    let mut tx = world.store().write().await?;
    tx.races_mut().put(&race).await?;
    let facts = json!({ "winner": race.winner, "reason": what });
    world.emit(&mut tx, EventType::RaceFailed, &s.task, race.id.as_str(), &facts).await?;
    tx.commit().await?;
    Ok(End::Block(BlockReason::new(AnnotationType::RaceNotPromoted, what)))
}

/// Ends what is left of the task's races: runs, worktrees, branches that only the race needed. Then the task
/// moves on, where its step says so.
pub(crate) async fn end_race(world: &World, s: &Stepping, cancel: &CancellationToken) -> Result<End> {
    let left = world.store().read().await?.races().uncleared(&s.task.id).await?;
    let mut kept = Vec::new();
    for race in left.into_iter().filter(|race| race.status.is_over()) {
        kept.extend(super::left::clear_race(world, &s.context, race).await?);
    }
    if accepts(&s.step) {
        if !super::fixes::run_chosen_fix(world, s, cancel).await? {
            return Ok(End::Interrupted);
        }
        return accept_winner(world, s).await;
    }
    Ok(End::Ok((!kept.is_empty()).then(|| format!("kept for now: {}", kept.join(", ")))))
}

/// The task's work is done, by whoever won: on to what judges it.
async fn accept_winner(world: &World, s: &Stepping) -> Result<End> {
    let race = world.store().read().await?.races().last(&s.task.id).await?;
    let Some(race) = race.filter(|race| race.status == RaceStatus::Promoted) else {
        return Ok(End::skipped("no entry is the winner"));
    };
    let winner = race.winner.as_deref().and_then(|name| race.entry(name));
    let accept = s.context.workflow.state(&s.task.status).and_then(|state| state.triggers.get("accept"));
    let (Some(winner), Some(accept)) = (winner, accept) else {
        return Ok(End::Ok(Some("the state has no accept transition".to_owned())));
    };
    let redirect = match core::leaving::may_leave(world, s, Audience::AgentOnly).await? {
        Leave::Freely => None,
        Leave::Redirected(redirect) => Some(redirect),
        Leave::Refused(trouble) => return Ok(End::Block(trouble)),
    };
    let actor = Actor::Agent { id: winner.agent_id.clone() };
    let mut mv = Move::by(&accept.to, "accept", actor);
    mv.reason = Some(format!("{} won the race", winner.strategy));
    Ok(End::go(redirect.map_or_else(|| mv.clone(), |redirect| redirect.instead_of(&mv))))
}

/// A race looks again once an entry of its is over.
pub(crate) async fn race_goes_on(world: &World, tx: &mut Tx, entry: &TaskId) -> Result<Option<Effect>> {
    let Some(task) = tx.tasks().get(entry).await?.filter(is_entry) else { return Ok(None) };
    let context = core::contexts::context_of(world, tx, &task).await?;
    Ok(task.parent_id.clone().filter(|_| is_entry_over(&context, &task)).map(Effect::Kick))
}

/// Queues the end of the task's race, once, for a race whose task goes elsewhere.
pub(crate) async fn end_race_with(cx: &mut Cx<'_>, moved: Moved<'_>) -> Result<()> {
    let Moved { task, state, row, taken_over, .. } = moved;
    if taken_over || is_entry(task) {
        return Ok(());
    }
    let blocks = state.kind == StateKind::Blocked;
    let left = cx.tx.races().uncleared(&task.id).await?;
    let mut over = false;
    for mut race in left {
        let goes_on = match race.status {
            RaceStatus::Decided => blocks,
            RaceStatus::Running | RaceStatus::AwaitingCrown => false,
            RaceStatus::Promoted | RaceStatus::NoWinner | RaceStatus::Cancelled => {
                over = true;
                continue;
            }
        };
        if !goes_on {
            race.status = RaceStatus::Cancelled;
            race.finished_at = Some(cx.now);
            cx.tx.races_mut().put(&race).await?;
            over = true;
        }
    }
    if over {
        let mut step = StepRow::pending(&task.id, &state.name, StepKind::EndRace, Phase::OnEnter.as_str());
        step.status = StepStatus::Pending;
        step.transition_seq = Some(row.seq);
        cx.tx.steps_mut().insert(&mut step).await?;
    }
    Ok(())
}

fn waits_for_choice(race: &Race) -> End {
    End::wait(WaitReason::RaceCrown, choice_of(race))
}

/// What a person is asked to choose from, in a sentence.
fn choice_of(race: &Race) -> String {
    match &race.winner {
        Some(winner) => format!("Choose the winner. Suggested: {winner}."),
        None => {
            let names = race.told_apart_by_name().join(", ");
            format!("Choose the winner. {names} are equal in checks, score and cost.")
        }
    }
}

/// Whether the end of a race sends its task on to what judges the winner's work.
pub(crate) fn accepts(step: &StepRow) -> bool {
    step.params.as_ref().is_some_and(|then| then == THEN_ACCEPT)
}

/// When the time of the next entry is up.
fn next_deadline(race: &Race) -> Option<Timestamp> {
    let limit = i64::from(race.timeout_sec) * SECOND_MS;
    let running = race.entries.iter().filter(|entry| entry.status == RaceEntryStatus::Running);
    running.filter_map(|entry| entry.started_at).map(|at| at.plus_ms(limit)).min()
}

#[cfg(test)]
mod tests;
