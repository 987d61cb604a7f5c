//! What jobs ask for, and what is needed to submit them.

use serde::{Deserialize, Serialize};

use super::Submit;
use crate::KeeperProgram;

/// What a job asks for. What is absent is as the cluster has it. Whoever makes it has checked that `sbatch` reads each
/// value as what it is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlurmConfig {
    /// The partition.
    pub partition: Option<String>,
    /// The account to charge.
    pub account: Option<String>,
    /// The time limit, in minutes.
    pub time_minutes: Option<u32>,
    /// The processors.
    pub cpus: Option<u32>,
    /// The memory, in MiB.
    pub memory_mb: Option<u32>,
    /// Generic resources, such as `gpu:1`.
    pub gres: Option<String>,
}

/// The jobs of one machine, and what is needed to submit them.
#[derive(Debug, Clone)]
pub struct SlurmSetup {
    /// What they ask for.
    pub config: SlurmConfig,
    /// The folder there that holds everything of Forge; one that begins with `~/` lies in the user's home. The nodes share
    /// it with the computer that submits.
    pub root: String,
    /// Whose jobs they are: letters and digits.
    pub owner: String,
    /// The keeper, for each kind of node that there is one for.
    pub keepers: Vec<KeeperProgram>,
    /// Where they are submitted.
    pub submit: Submit,
}

impl SlurmConfig {
    /// The arguments of `sbatch` for a job of this name.
    pub(super) fn arguments(&self, name: &str) -> Vec<String> {
        let mut arguments: Vec<String> = [
            "sbatch",
            "--parsable",
            // A second copy would begin while the first one may go on.
            "--no-requeue",
            // Nothing of the environment of whoever submits. With `NONE`, Slurm waits for a login of the user first.
            "--export=NIL",
            "--nodes=1",
            "--ntasks=1",
            "--chdir=/",
            "--input=/dev/null",
            "--output=/dev/null",
            "--error=/dev/null",
        ]
        .map(str::to_owned)
        .into();
        arguments.push(format!("--job-name={name}"));
        let mut option = |name: &str, value: Option<String>| {
            arguments.extend(value.map(|value| format!("--{name}={value}")));
        };
        option("partition", self.partition.clone());
        option("account", self.account.clone());
        option("time", self.time_minutes.map(|minutes| minutes.to_string()));
        option("cpus-per-task", self.cpus.map(|cpus| cpus.to_string()));
        option("mem", self.memory_mb.map(|mb| format!("{mb}M")));
        option("gres", self.gres.clone());
        arguments
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_say_what_is_asked_for_and_that_a_job_is_never_begun_again() {
        let good = SlurmConfig {
            time_minutes: Some(90),
            memory_mb: Some(512),
            gres: Some("gpu:a100:2".to_owned()),
            ..SlurmConfig::default()
        };
        let line = good.arguments("forge-o-a").join(" ");
        for word in ["--no-requeue", "--export=NIL", "--time=90", "--mem=512M", "--gres=gpu:a100:2"] {
            assert!(line.contains(word), "{line}");
        }
        assert!(!line.contains("--partition"), "{line}");
    }
}
