//! What a race is likely to cost, from what the models of its strategies cost in the project so far.

use forge_model::anomaly::{doubled_median, half};
use forge_model::ids::{ProjectId, TaskId};
use forge_model::inner_loop::{Competitive, InnerLoop, Strategy};
use forge_model::race::{EntryEstimate, RaceEstimate};
use forge_store::ReadConnection;

use crate::{EngineError, World, core, error::Result, race::tell_apart};

/// What a race of a task is likely to cost. `names` says which strategies; else all that would race.
pub(crate) async fn race_estimate(
    world: &World,
    id: &TaskId,
    names: Option<&[String]>,
) -> Result<RaceEstimate> {
    let mut conn = world.store().read().await?;
    let (task, context) = core::load::load(world, &mut conn, id, None).await?;
    let settings = &context.settings.inner_loop;
    let race: Competitive =
        task.race.as_ref().map_or_else(|| settings.competitive.clone(), |own| settings.race_of(own));
    let mut strategies = tell_apart(super::strategies_of(&mut conn, &race).await?);
    if let Some(names) = names {
        if let Some(unknown) =
            names.iter().find(|name| strategies.iter().all(|strategy| strategy.name != **name))
        {
            return Err(EngineError::invalid("strategies", format!("no strategy `{unknown}`")));
        }
        strategies.retain(|strategy| names.contains(&strategy.name));
    }
    estimate(&mut conn, &task.project_id, settings, strategies).await
}

/// The same for a task that is not made yet: with these strategies, or as the project says.
pub(crate) async fn project_race_estimate(
    world: &World,
    id: &ProjectId,
    strategies: Option<Vec<Strategy>>,
) -> Result<RaceEstimate> {
    let mut conn = world.store().read().await?;
    let context = core::contexts::context(world, &mut conn, id).await?;
    let settings = &context.settings.inner_loop;
    let mut race = settings.competitive.clone();
    if let Some(own) = strategies {
        race.strategies = own;
    }
    let strategies = tell_apart(super::strategies_of(&mut conn, &race).await?);
    estimate(&mut conn, id, settings, strategies).await
}

async fn estimate(
    conn: &mut ReadConnection,
    project: &ProjectId,
    settings: &InnerLoop,
    strategies: Vec<Strategy>,
) -> Result<RaceEstimate> {
    let window = settings.cost_anomaly.threshold().median_window();
    let mut entries = Vec::with_capacity(strategies.len());
    for strategy in strategies {
        entries.push(estimate_entry(conn, project, strategy, window).await?);
    }
    let known: Option<Vec<f64>> = entries.iter().map(|entry| entry.median_micro_usd).collect();
    let total_micro_usd = known.filter(|known| !known.is_empty()).map(|known| known.iter().sum());
    Ok(RaceEstimate { entries, total_micro_usd })
}

async fn estimate_entry(
    conn: &mut ReadConnection,
    project: &ProjectId,
    strategy: Strategy,
    window: usize,
) -> Result<EntryEstimate> {
    let of_agent = conn.agents().get(&strategy.agent_id).await?.and_then(|agent| agent.model);
    let requested = strategy.model.or(of_agent);
    let mut earlier_costs = match &requested {
        Some(model) => conn.costs().window(project, model, window).await?,
        None => Vec::new(),
    };
    if earlier_costs.is_empty() {
        // Programs accept short model names, or choose a model themselves: they will likely use the same one again.
        let used = conn.costs().last_model(project, &strategy.agent_id, requested.as_deref()).await?;
        if let Some(used) = used {
            earlier_costs = conn.costs().window(project, &used, window).await?;
        }
    }
    Ok(EntryEstimate {
        name: strategy.name,
        agent_id: strategy.agent_id,
        model: requested,
        samples: u32::try_from(earlier_costs.len()).unwrap_or(u32::MAX),
        median_micro_usd: doubled_median(earlier_costs).map(half),
    })
}
