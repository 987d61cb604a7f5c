//! What jobs ask for, and what is needed to submit them.

use serde::{Deserialize, Serialize};

use super::{SlurmFault, Submit};
use crate::KeeperProgram;

/// What a job asks for. What is absent is as the cluster has it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlurmConfig {
    /// The partition.
    pub partition: Option<String>,
    /// The account that is charged.
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
    /// Whether `sbatch` would read the values as what they are.
    ///
    /// # Errors
    /// The first one that it would not, by its field.
    pub fn check(&self) -> Result<(), SlurmFault> {
        let invalid = |field: &str, problem: &str| {
            Err(SlurmFault::Invalid { field: field.to_owned(), problem: problem.to_owned() })
        };
        for (field, value, more) in [
            ("partition", &self.partition, "-_.,"),
            ("account", &self.account, "-_."),
            ("gres", &self.gres, "-_.,:="),
        ] {
            let is_word = |text: &String| {
                !text.is_empty()
                    && !text.starts_with('-')
                    && text.chars().all(|it| it.is_ascii_alphanumeric() || more.contains(it))
            };
            if value.as_ref().is_some_and(|value| !is_word(value)) {
                return invalid(field, "must be letters, digits and `-_.`, as Slurm names it");
            }
        }
        for (field, value) in
            [("time_minutes", self.time_minutes), ("cpus", self.cpus), ("memory_mb", self.memory_mb)]
        {
            if value == Some(0) {
                return invalid(field, "must be at least 1");
            }
        }
        Ok(())
    }

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
    fn value_that_sbatch_would_read_as_something_else_is_refused_by_its_field() {
        let good = SlurmConfig {
            partition: Some("gpu,long".to_owned()),
            account: Some("lab-1".to_owned()),
            time_minutes: Some(90),
            cpus: Some(2),
            memory_mb: Some(512),
            gres: Some("gpu:a100:2".to_owned()),
        };
        good.check().unwrap();
        let line = good.arguments("forge-o-a").join(" ");
        for word in ["--no-requeue", "--export=NIL", "--time=90", "--mem=512M", "--gres=gpu:a100:2"] {
            assert!(line.contains(word), "{line}");
        }
        let of = |field: &str, config: SlurmConfig| {
            let fault = config.check().unwrap_err();
            assert!(matches!(&fault, SlurmFault::Invalid { field: it, .. } if it == field), "{fault}");
        };
        of("partition", SlurmConfig { partition: Some("-x".to_owned()), ..good.clone() });
        of("account", SlurmConfig { account: Some("a b".to_owned()), ..good.clone() });
        of("gres", SlurmConfig { gres: Some("gpu$(x)".to_owned()), ..good.clone() });
        of("time_minutes", SlurmConfig { time_minutes: Some(0), ..good.clone() });
        of("memory_mb", SlurmConfig { memory_mb: Some(0), ..good });
    }
}
