//! Sweeps of machines that make something for each task: what no task has any more is removed.

use std::time::Duration;

use forge_model::machine::{Machine, MachineKind};

use crate::{World, core, error::Result};

use super::{clearing::until_end, containers, jobs};

/// From one sweep to the next.
const SWEEP_EVERY: Duration = Duration::from_secs(60 * 60);

/// Sweeps now, and again and again until this engine ends.
pub(super) fn keep_swept(world: &World) {
    core::guarded::keep_going(world, async |world: World| {
        loop {
            let swept = tokio::select! {
                swept = sweep_all(&world) => swept,
                () = world.inner.shutdown.cancelled() => return,
            };
            if let Err(error) = swept {
                tracing::warn!(%error, "failed to sweep machines; trying again later");
            }
            if !core::sleep::pause(&world, SWEEP_EVERY).await {
                return;
            }
        }
    });
}

/// Sweeps a machine that a person tests: it may be one that was out of use.
pub(super) fn sweep_later(world: &World, machine: &Machine) {
    let (world, machine) = (world.clone(), machine.clone());
    until_end(&world.clone(), async move { sweep(&world, &machine).await });
}

async fn sweep_all(world: &World) -> Result<()> {
    let machines = world.store().read().await?.machines().list().await?;
    for machine in &machines {
        if let Err(error) = sweep(world, machine).await {
            tracing::warn!(machine = machine.name, %error, "failed to sweep a machine");
        }
    }
    Ok(())
}

async fn sweep(world: &World, machine: &Machine) -> Result<()> {
    match machine.kind {
        MachineKind::Ssh => Ok(()),
        MachineKind::Container => containers::sweep(world, machine).await,
        MachineKind::Slurm | MachineKind::Kubernetes => jobs::sweep(world, machine).await,
    }
}
