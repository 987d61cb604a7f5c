//! The test of a machine, step by step.

use std::collections::BTreeSet;

use forge_machines::{Step, StepName};
use forge_model::agent::{AdapterKind, ProgramConfig};
use forge_model::ids::MachineId;
use forge_model::machine::{MachineTest, MachineTestStep};

use super::{command, sweeping};
use crate::{World, core::location::contacts, error::Result};

/// Tests a machine: everything that a task needs there. The programs that agents use are looked for, too.
pub(crate) async fn test_machine(world: &World, id: &MachineId) -> Result<MachineTest> {
    let machine = command::machine(world, id).await?;
    let programs = agent_programs(world).await?;
    let names: Vec<&str> = programs.iter().map(String::as_str).collect();
    let steps = contacts::test(world, &machine, &names).await?;
    sweeping::sweep_later(world, &machine);
    let ok = steps.iter().all(|step| step.ok || step.name == StepName::Program);
    Ok(MachineTest { ok, steps: steps.into_iter().map(step_of).collect() })
}

/// The programs of the agent profiles, by their names.
async fn agent_programs(world: &World) -> Result<BTreeSet<String>> {
    let agents = world.store().read().await?.agents().list().await?;
    let named = agents.into_iter().filter_map(|agent| {
        let config: ProgramConfig = serde_json::from_value(agent.config).ok()?;
        let usual = match agent.adapter {
            AdapterKind::Shell => return None,
            AdapterKind::Codex => Some("codex"),
            AdapterKind::Claude => Some("claude"),
            AdapterKind::Acp => None,
        };
        config.program.or_else(|| usual.map(str::to_owned))
    });
    // A path is one of this computer.
    Ok(named.filter(|name| !name.contains('/') && !name.trim().is_empty()).collect())
}

fn step_of(step: Step) -> MachineTestStep {
    let name = match step.name {
        StepName::Reach => "reach",
        StepName::HostKey => "host key",
        StepName::SignIn => "sign-in",
        StepName::ContainerEngine => "container engine",
        StepName::Limits => "limits",
        StepName::Image => "image",
        StepName::Container => "container",
        StepName::Slurm => "slurm",
        StepName::Kubernetes => "kubernetes",
        StepName::Job => "job",
        StepName::SharedFolder => "shared folder",
        StepName::Keeper => "keeper",
        StepName::Git => "git",
        StepName::Disk => "disk",
        StepName::Program => "program",
        StepName::Lingering => "lingering",
        StepName::Clock => "clock",
    };
    let name = step.subject.map_or_else(|| name.to_owned(), |subject| format!("{name} {subject}"));
    MachineTestStep { name, ok: step.ok, message: step.message, remedy: step.remedy }
}
